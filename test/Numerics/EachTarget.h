// Runs a test body once for every instruction set this host can run, so that they can be compared with each other.
#pragma once
#include <hwy/highway.h>

#include <cstdint>
#include <vector>

namespace glia::test {

// After disableTargets(mask) the numerics run on the best instruction set not in `mask`.
inline void disableTargets(int64_t mask) {
  hwy::DisableTargets(mask);
  hwy::GetChosenTarget().DeInit();
}
inline std::vector<int64_t> targetMasks() { return {0, HWY_AVX3, HWY_AVX3 | HWY_AVX2}; }

template <class Body> void onEachTarget(Body body) {
  for (int64_t mask : targetMasks()) {
    disableTargets(mask);
    body();
  }
  disableTargets(0);
}

} // namespace glia::test
