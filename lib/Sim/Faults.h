// How a run ends early, and how its messages name instructions.
#pragma once
#include "glia/Program/Decode.h"
#include "glia/Support/Diagnostic.h"

namespace glia::sim {

struct InstrId { // one instruction of the program
  uint8_t core = 0;
  Engine engine = Engine::Sync;
  uint32_t index = 0;
  friend bool operator==(const InstrId &, const InstrId &) = default;
};

// Thrown through a run; `run` turns it into RunResult::fault.
struct Fault {
  Diagnostic diagnostic;
};

// "core 0 vector instruction 12: tensor_tensor (kernel k, file.py:41)"; without the place if `place` is false.
std::string describe(const Program &p, InstrId at, bool place = true);
// "semaphore `loaded` is 3 and instruction ... waits for 16" parts are made by the callers.
Diagnostic diagnosticAt(const Program &p, InstrId at, std::string code, std::string message);
[[noreturn]] void faultAt(const Program &p, InstrId at, std::string code, std::string message,
                          std::vector<std::string> notes = {}, std::string value = {}, std::string limit = {});

} // namespace glia::sim
