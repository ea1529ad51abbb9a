#include "Rects.h"

#include <vector>

namespace glia::sim {

bool identical(const Region &a, const Region &b) {
  return a.start == b.start && a.firstPartition == b.firstPartition && a.partitions == b.partitions && a.dtype == b.dtype &&
         a.rank == b.rank && std::equal(a.strides.begin(), a.strides.begin() + a.rank, b.strides.begin()) &&
         std::equal(a.counts.begin(), a.counts.begin() + a.rank, b.counts.begin());
}

bool overlap(const Region &a, const Region &b) {
  if (a.firstPartition >= b.firstPartition + b.partitions || b.firstPartition >= a.firstPartition + a.partitions)
    return false;
  const ByteSet x = byteSet(a), y = byteSet(b);
  if (x.start >= y.last || y.start >= x.last)
    return false;
  if (x.outer == 0 && y.outer == 0)
    return true;
  // One sorted list of runs, the other looked up in it.
  std::vector<std::pair<int64_t, int64_t>> runs;
  forEachRun(x, [&](int64_t lo, int64_t hi) {
    runs.emplace_back(lo, hi);
    return true;
  });
  std::sort(runs.begin(), runs.end());
  int64_t reach = 0; // ends may be out of order where runs overlap: make them ascend
  for (auto &r : runs)
    r.second = reach = std::max(reach, r.second);
  return !forEachRun(y, [&](int64_t lo, int64_t hi) {
    auto it = std::lower_bound(runs.begin(), runs.end(), hi, [](const auto &r, int64_t v) { return r.first < v; });
    return it == runs.begin() || std::prev(it)->second <= lo;
  });
}

} // namespace glia::sim
