// What one run of a mutant comes to.
#pragma once
#include "glia/Sim/Simulator.h"
#include "glia/Support/Random.h"

namespace glia::mutants {

struct Outcome {
  std::string fault;  // its code
  std::string result; // the outputs as bytes; a guarded trap is a result
  friend bool operator==(const Outcome &, const Outcome &) = default;
};

constexpr int kSteeredSeeds = 3; // besides those that draw every step

Outcome outcome(const Program &p, const TensorData &inputs, uint64_t seed, bool steered = false);

// What goes wrong under some seed: with the largest counts, with the smallest, and with inputs drawn at random. Empty: nothing.
// `trap`: a guarded trap is wrong, too.
std::string whatGoesWrong(const Program &p, Random &random, int seeds, bool trap = false);

} // namespace glia::mutants
