#include "glia/ISA/EngineCost.h"

#include <algorithm>
#include <cstdlib>

namespace glia {

bool narrowFloats(const CostQuery &q, std::initializer_list<int> slots) {
  const bool bytes = q.target.has("perf_modes_fp8");
  return std::all_of(slots.begin(), slots.end(), [&](int s) {
    const DType t = q.dtype(s);
    return t == DType::BF16 || t == DType::F16 || (bytes && isFloat(t) && sizeOf(t) == 1);
  });
}

static bool innermostAdjacent(const Pattern &p) {
  const Dim inner = p.rank ? p.dims[p.rank - 1] : Dim{};
  return inner.count == 1 || inner.stride == 1;
}

double streamRate(const CostQuery &q, int in, int out) {
  if (q.engine == Engine::Scalar)
    return q.target.has("scalar_perf_modes") && narrowFloats(q, {in, out}) ? 2 : 1;
  if (q.engine != Engine::Vector || !q.target.has("vector_perf_modes") || !narrowFloats(q, {in, out}))
    return 1;
  const int psum = (q.space(in) == Space::Psum) + (q.space(out) == Space::Psum);
  const bool adjacent = innermostAdjacent(q.pattern(in)) && innermostAdjacent(q.pattern(out));
  if (psum == 0)
    return adjacent ? 4 : 2;
  return psum == 1 && adjacent ? 2 : 1;
}

Cost streamCost(const CostQuery &q, double cycles, std::initializer_list<int> slots) {
  const double wide = q.param("cost.wide_stride");
  bool slow = false, dynamic = false;
  for (int s : slots) {
    if (!q.has(s))
      continue;
    const Pattern &p = q.pattern(s);
    const Dim inner = p.rank ? p.dims[p.rank - 1] : Dim{};
    slow |= inner.count > 1 && std::abs(static_cast<double>(inner.stride)) * sizeOf(p.dtype) > wide;
    dynamic |= p.numDynamic > 0;
  }
  if (slow)
    cycles *= 2;
  return q.pipelined(dynamic ? std::max(cycles, q.param("cost.dynamic_floor")) : cycles);
}

Cost withReadout(const CostQuery &q, Cost cost, int result) {
  if (!q.has(result))
    return cost;
  const double extra = q.param("cost.accumulator_read") / q.clock();
  cost.busy += extra;
  cost.latency += extra;
  return atEnd(cost);
}

Cost atEnd(Cost cost) {
  cost.lead = 0;
  return cost;
}

} // namespace glia
