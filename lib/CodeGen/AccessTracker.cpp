#include "AccessTracker.h"

#include <algorithm>

namespace glia::codegen {

static const char kSbufKey = 0, kPsumKey = 0;

template <class F> void AccessTracker::eachGranule(const Touch &t, F f) {
  const void *object = t.space == Space::Hbm ? t.object : t.space == Space::Sbuf ? &kSbufKey : &kPsumKey;
  const int64_t size = t.space == Space::Hbm ? kHbmGranule : kChipGranule;
  for (int64_t g = t.lo / size; g <= (t.hi - 1) / size; ++g)
    f(std::pair<const void *, int64_t>(object, g));
}

void AccessTracker::conflicts(const Touch &t, llvm::function_ref<void(uint32_t)> found) const {
  eachGranule(t, [&](auto key) {
    const auto it = granules.find(key);
    if (it == granules.end())
      return;
    for (const Record &r : it->second.writes)
      if (mayMeet(t, r.touch))
        found(r.instruction);
    if (t.write)
      for (const Record &r : it->second.reads)
        if (mayMeet(t, r.touch))
          found(r.instruction);
  });
}

void AccessTracker::record(const Touch &t, uint32_t instruction) {
  const int64_t size = t.space == Space::Hbm ? kHbmGranule : kChipGranule;
  eachGranule(t, [&](auto key) {
    Granule &g = granules[key];
    if (t.write && t.dense) {
      // What the new write covers within this granule.
      Touch part = t;
      auto covered = [&](const Record &r) {
        Touch old = r.touch;
        old.lo = std::max(old.lo, key.second * size);
        old.hi = std::min(old.hi, (key.second + 1) * size);
        return r.instruction != instruction && covers(part, old);
      };
      std::erase_if(g.reads, covered);
      std::erase_if(g.writes, covered);
    }
    (t.write ? g.writes : g.reads).push_back({t, instruction});
  });
}

} // namespace glia::codegen
