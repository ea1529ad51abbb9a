// How far a predicted time is above what it could be: the busiest part of the program, and what its graph needs at least.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <string>
#include <string_view>
#include <vector>

namespace glia {

// What the compiler writes into the contract of a graph's program: nanoseconds, and what takes them.
inline constexpr std::string_view kLeastTime = "least.ns", kLeastReason = "least.by";

struct ProgramBound {
  double busiest = 0;                                // ns: no order of the same instructions takes less
  std::string part;                                  // "core 0 vector", "dma", "hbm"
  std::vector<std::pair<std::string, double>> parts; // all of them, with their ns
  double least = 0;  // ns: what the graph needs (docs/bound.md); 0 if the program does not say
  std::string limit; // what takes them
};

ProgramBound programBound(const Program &p, const TimingResult &r);

} // namespace glia
