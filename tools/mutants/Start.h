// Valid programs to start from.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Support/Random.h"

namespace glia::mutants {

struct Start {
  std::string name;
  Program program;
};

std::vector<Start> smallPrograms(); // test/mutants, on every target that takes them
// A generated program that verifies (that all do is the business of --valid).
Start generatedProgram(Random &random);

} // namespace glia::mutants
