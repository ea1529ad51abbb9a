#include "glia/Verify/Footprint.h"
#include "Wide.h"

#include <algorithm>
#include <cstdlib>

namespace glia {

ByteRun extent(const Pattern &p) {
  const int size = sizeOf(p.dtype);
  Wide lo = 0, hi = size;
  for (int i = 0; i < p.rank; ++i) {
    const Wide span = Wide{p.dims[i].stride} * (p.dims[i].count - int64_t{1}) * size;
    (span < 0 ? lo : hi) += span;
  }
  return {clampFar(lo), clampFar(hi)};
}

bool runsMeet(const std::vector<ByteRun> &a, const std::vector<ByteRun> &b) {
  for (size_t i = 0, k = 0; i < a.size() && k < b.size(); a[i].hi < b[k].hi ? ++i : ++k)
    if (a[i].lo < b[k].hi && b[k].lo < a[i].hi)
      return true;
  return false;
}

void mergeRuns(std::vector<ByteRun> &runs) {
  if (runs.empty())
    return;
  auto before = [](const ByteRun &a, const ByteRun &b) { return a.lo < b.lo; };
  if (!std::is_sorted(runs.begin(), runs.end(), before))
    std::sort(runs.begin(), runs.end(), before);
  size_t kept = 0;
  for (size_t k = 1; k < runs.size(); ++k) {
    if (runs[k].lo <= runs[kept].hi)
      runs[kept].hi = std::max(runs[kept].hi, runs[k].hi);
    else
      runs[++kept] = runs[k];
  }
  runs.resize(kept + 1);
}

bool footprint(const Pattern &p, int64_t start, std::vector<ByteRun> &out, size_t maxRuns) {
  out.clear();
  const int size = sizeOf(p.dtype);
  if (p.contiguous()) {
    out.push_back({start, start + p.elementsPerPartition() * size});
    return true;
  }
  // Each step repeats the runs found so far at the offsets of the next slower dimension.
  out.push_back({start, start + size});
  for (int i = p.rank - 1; i >= 0; --i) {
    int64_t stride = static_cast<int64_t>(p.dims[i].stride) * size;
    const int64_t count = p.dims[i].count;
    if (count == 1 || stride == 0)
      continue;
    const bool down = stride < 0;
    stride = std::abs(stride);
    const size_t n = out.size();
    const bool oneRun = n == 1 && stride <= out[0].hi - out[0].lo;
    if (!oneRun && n * count > maxRuns) {
      const ByteRun e = extent(p);
      out.assign(1, {clampFar(Wide{start} + e.lo), clampFar(Wide{start} + e.hi)});
      return false;
    }
    const int64_t base = down ? -stride * (count - 1) : 0;
    if (oneRun) {
      out[0] = {out[0].lo + base, out[0].hi + base + stride * (count - 1)};
      continue;
    }
    out.reserve(n * count);
    for (size_t k = 0; k < n; ++k)
      out[k] = {out[k].lo + base, out[k].hi + base};
    for (int64_t c = 1; c < count; ++c)
      for (size_t k = 0; k < n; ++k)
        out.push_back({out[k].lo + c * stride, out[k].hi + c * stride});
  }
  mergeRuns(out);
  return true;
}

} // namespace glia
