// How long instructions take, from the machine's own cost formulas; for scheduling.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/ISA/Cost.h"

namespace glia::codegen {

struct Duration {
  double busy = 0;     // the engine can issue its next instruction after this
  double latency = 0;  // results can be used after this
  double transfer = 0; // DMA: time all DMA engines together are occupied
};

Duration durationOf(nisa::Instr i, const Target &target, Engine e);

} // namespace glia::codegen
