#include "glia/ISA/Cost.h"

#include <algorithm>

namespace glia {

double CostQuery::clock() const {
  static constexpr std::string_view kKeys[] = {"clock.tensor", "clock.vector", "clock.scalar", "clock.gpsimd", "clock.sync"};
  return target.number(kKeys[static_cast<int>(engine)]);
}

Cost CostQuery::pipelined(double cycles) const {
  static constexpr std::string_view kLatency[] = {"cost.tensor_latency", "cost.vector_latency", "cost.scalar_latency",
                                                  "cost.gpsimd_latency", "cost.sync_latency"};
  const double busy = std::max(cycles, param("cost.issue_floor")) / clock();
  const double fixed = param(kLatency[static_cast<int>(engine)]);
  return {busy, cycles / clock() + fixed, fixed};
}

Cost CostQuery::serial(double cycles) const {
  const double time = pipelined(cycles).latency;
  return {time, time};
}

Cost CostQuery::sequencer() const { return {param("cost.sequencer_op"), param("cost.sequencer_op")}; }

} // namespace glia
