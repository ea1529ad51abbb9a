#include "AccessTracker.h"

#include <algorithm>

namespace glia::codegen {

void AccessTracker::Granule::conflicts(const Touch &t, llvm::function_ref<void(uint32_t)> found) const {
  for (const Record &r : writes)
    if (mayMeet(t, r.touch))
      found(r.instruction);
  if (t.write)
    for (const Record &r : reads)
      if (mayMeet(t, r.touch))
        found(r.instruction);
}

void AccessTracker::Granule::forget(const Touch &t, uint32_t instruction, int64_t lo, int64_t hi) {
  const auto covered = [&](const Record &r) {
    Touch old = r.touch;
    old.lo = std::max(old.lo, lo);
    old.hi = std::min(old.hi, hi);
    return r.instruction != instruction && covers(t, old);
  };
  std::erase_if(reads, covered);
  std::erase_if(writes, covered);
}

// f(granule, its size) for those that there are at the bytes of a touch.
template <class Levels, class F> static void eachAt(Levels &levels, const Touch &t, int64_t size, int64_t factor, F f) {
  for (auto &level : levels) {
    const auto end = level.upper_bound((t.hi - 1) / size);
    for (auto it = level.lower_bound(t.lo / size); it != end; ++it)
      f(it->second, it->first * size, size);
    size *= factor;
  }
}

void AccessTracker::conflicts(const Touch &t, llvm::function_ref<void(uint32_t)> found) const {
  if (t.space != Space::Hbm) {
    const std::vector<Granule> &granules = chip[t.space == Space::Psum];
    const int64_t end = std::min(static_cast<int64_t>(granules.size()), (t.hi - 1) / kChipGranule + 1);
    for (int64_t g = t.lo / kChipGranule; g < end; ++g)
      granules[g].conflicts(t, found);
    return;
  }
  if (const auto it = hbm.find(t.object); it != hbm.end())
    eachAt(it->second, t, kSmallest, kFactor, [&](const Granule &g, int64_t, int64_t) { g.conflicts(t, found); });
}

void AccessTracker::record(const Touch &t, uint32_t instruction) {
  const bool forget = t.write && t.dense;
  if (t.space != Space::Hbm) {
    std::vector<Granule> &granules = chip[t.space == Space::Psum];
    const int64_t end = (t.hi - 1) / kChipGranule + 1;
    if (static_cast<int64_t>(granules.size()) < end)
      granules.resize(end);
    for (int64_t g = t.lo / kChipGranule; g < end; ++g) {
      if (forget)
        granules[g].forget(t, instruction, g * kChipGranule, (g + 1) * kChipGranule);
      granules[g].add(t, instruction);
    }
    return;
  }
  Levels &levels = hbm[t.object];
  if (forget)
    eachAt(levels, t, kSmallest, kFactor,
           [&](Granule &g, int64_t lo, int64_t size) { g.forget(t, instruction, lo, lo + size); });
  size_t level = 0;
  int64_t size = kSmallest;
  for (; level + 1 < levels.size() && (t.hi - 1) / size - t.lo / size >= kFew; size *= kFactor)
    ++level;
  for (int64_t g = t.lo / size; g <= (t.hi - 1) / size; ++g)
    levels[level][g].add(t, instruction);
}

} // namespace glia::codegen
