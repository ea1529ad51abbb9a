// A program taken apart so that anything can be changed, and put together again.
#pragma once
#include "glia/Program/Decode.h"
#include "glia/Program/Program.h"

namespace glia {

struct InstrParts {
  int core;
  Engine engine;
  const InstrDef *def;
  std::vector<Value> values;
  std::vector<std::vector<uint32_t>> lists;
  std::vector<Pattern> patterns; // of tensor values, by slot
  std::vector<SyncOp> waits, updates;
  uint32_t origin;
};

struct ProgramParts {
  Program shell;                 // everything but the streams
  std::vector<InstrParts> items; // stream by stream
};

ProgramParts takeApart(const Program &p);
// Without what only the linker needs. Throws Error if that is no program.
Program putTogether(const ProgramParts &parts);
void becomeNop(InstrParts &i); // with the same waits and updates

} // namespace glia
