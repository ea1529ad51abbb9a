// The fault injector: takes a valid program and changes one thing in it.
#pragma once
#include "glia/Support/Random.h"
#include "glia/Program/Program.h"

#include <optional>
#include <string>

namespace glia::mutants {

struct Mutant {
  Program program;
  std::string change; // "weaken-wait: core 0 vector instruction 3 waits for ... "
  std::string kind;   // "weaken-wait"
};

// One random change; nothing if the chosen kind of change has no place in this program.
std::optional<Mutant> mutate(const Program &p, Random &random);

} // namespace glia::mutants
