// What the author of a kernel could do to make it faster, found in a predicted run: each with the time it is about.
#pragma once
#include "glia/Profile/Waits.h"

namespace glia {

struct Proposal {
  std::string place; // "attention.py:25"
  std::string file;  // the same, apart
  uint32_t line = 0;
  std::string text;  // what could be done
  std::string about; // "vector", "tensor", "transfers", "the run"
  double time = 0;   // ns of that which it would save at most
};

// First those about the engine that is busiest, the largest first.
std::vector<Proposal> proposals(const Program &p, const TimingResult &r, const std::vector<PathStep> &path,
                                const std::vector<WaitUse> &waits);

} // namespace glia
