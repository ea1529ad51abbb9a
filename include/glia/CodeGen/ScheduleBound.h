// The least time that any schedule of a kernel can take: a measure for the scheduler that shares nothing with it. Only what every
// order must respect counts: the work of each engine, the bytes that move, and true data dependences.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Target/Target.h"

#include <array>
#include <string>

namespace glia {

struct ScheduleBound {                    // nanoseconds; of the core that needs most
  std::array<double, kNumEngines> busy{}; // work of each engine
  double transfers = 0;                   // all DMA engines, or HBM, at full rate
  double path = 0;                        // longest chain of results that wait for results
  double around = 0;                      // the work of one resource, what must come before it, and what must follow
  int limit = 0;                          // that resource: an engine, or see ScheduleBound.cpp
  double total() const;
  std::string reason() const; // what the total is: "vector", "dma", "path"
};

ScheduleBound scheduleBound(nisa::Kernel &k);

} // namespace glia
