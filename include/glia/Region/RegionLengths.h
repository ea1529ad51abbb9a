// Where regions begin and end, in a list of groups in the order of the program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace glia::emit {

// A group, seen from where regions begin and end.
struct Stage {
  size_t kind = 0;    // equal for groups that give the same kernel
  int64_t weight = 0; // instructions
  bool alone = false; // it is no part of a region
};

// How many stages each region takes, in order: as many as weigh at most `most`, but where stages repeat themselves (layers) regions begin
// and end with the repetition, so that they are equal and compiled once.
std::vector<size_t> regionLengths(std::span<const Stage> stages, int64_t most);

} // namespace glia::emit
