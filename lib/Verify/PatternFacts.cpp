// What the static rules need to know of a pattern, computed once: programs have far fewer patterns than instructions.
#include "StaticParts.h"

#include <algorithm>
#include <cstdlib>

namespace glia {

static PatternFacts factsOf(const Pattern &x) {
  PatternFacts f;
  const int size = sizeOf(x.dtype);
  __int128 lo = 0, hi = 0;
  f.elements = x.elementsPerPartition();
  std::array<Dim, kMaxDims> used{};
  int count = 0;
  Dim previous;
  for (int i = 0; i < x.rank; ++i) {
    const Dim &d = x.dims[i];
    f.maxCount = std::max(f.maxCount, d.count);
    if (d.count == 1)
      continue;
    // A dimension that goes on where the next slower one steps is part of it.
    if (!count || previous.stride != static_cast<int64_t>(d.stride) * d.count)
      ++f.dims;
    previous = d;
    used[count++] = d;
    f.maxStride = std::max<int64_t>(f.maxStride, d.stride);
    f.minStride = std::min<int64_t>(f.minStride, d.stride);
    const __int128 reach = static_cast<__int128>(d.stride) * (int64_t{d.count} - 1);
    (reach < 0 ? lo : hi) += reach;
  }
  f.lo = clampFar(lo * size);
  f.hi = clampFar((hi + 1) * size);

  // Each dimension steps over everything that the dimensions with smaller strides reach: then no element comes twice.
  // Patterns that are distinct in another way are rare and count as not distinct.
  std::sort(used.begin(), used.begin() + count,
            [](const Dim &a, const Dim &b) { return std::abs(int64_t{a.stride}) < std::abs(int64_t{b.stride}); });
  __int128 span = 0;
  for (int i = 0; i < count; ++i) {
    const __int128 stride = std::abs(int64_t{used[i].stride});
    if (stride <= span)
      f.distinct = false;
    span += stride * (int64_t{used[i].count} - 1);
  }
  for (int i = 0; i < x.numDynamic; ++i) {
    if (x.dynamic[i].partition)
      f.movesPartition = true;
    else if (x.dynamic[i].scale % size)
      f.aligned = false;
  }
  return f;
}

std::vector<PatternFacts> patternFacts(const Program &p) {
  std::vector<PatternFacts> all;
  all.reserve(p.patterns.size());
  for (const Pattern &x : p.patterns)
    all.push_back(factsOf(x));
  return all;
}

} // namespace glia
