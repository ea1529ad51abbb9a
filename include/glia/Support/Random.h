// A small generator of random numbers (splitmix64) whose sequence is the same on every host.
#pragma once
#include <cstdint>
#include <vector>

namespace glia {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); } // 0 .. n-1
  int64_t between(int64_t lo, int64_t hi) { return lo + below(hi - lo + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T> const T &pick(const std::vector<T> &v) { return v[below(static_cast<int64_t>(v.size()))]; }

private:
  uint64_t state;
};

} // namespace glia
