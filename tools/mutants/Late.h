// Programs that go wrong late, if they do: loops of dozens to hundreds of iterations whose count is an input, so that nobody can
// walk through all of them. Each kind comes right and wrong; which it is, the simulator says.
#pragma once
#include "glia/Support/Random.h"

#include <string>

namespace glia::mutants {

struct Late {
  std::string kind, text;     // assembly
  bool requireProved = false; // a trap is wrong
};
Late lateProgram(Random &random);

// glia-mutants --late N [SEED]: N of them, some with one more thing changed. Returns the exit status.
int checkLate(int programs, uint64_t seed);

} // namespace glia::mutants
