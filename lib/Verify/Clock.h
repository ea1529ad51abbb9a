// What an engine knows to be complete: per component (engine, queue, pipe) the number of the last thing that is.
// Engines share a clock with the snapshots they hand out until it changes.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace glia::flow {

using Clock = std::vector<uint32_t>;

// A clock at the moment of an update: `base`, and beyond it up to two components that are further.
struct Snapshot {
  std::shared_ptr<const Clock> base;
  uint32_t comp[2] = {UINT32_MAX, UINT32_MAX};
  uint32_t seq[2] = {0, 0};
  uint32_t known(uint32_t component) const {
    uint32_t n = (*base)[component];
    for (int i = 0; i < 2; ++i)
      if (comp[i] == component && seq[i] > n)
        n = seq[i];
    return n;
  }
  bool knows(uint32_t component, uint32_t n) const { return known(component) >= n; }
};

class Knowledge {
public:
  void reset(size_t components) { clock = std::make_shared<Clock>(components, 0); }
  bool knows(uint32_t component, uint32_t n) const { return (*clock)[component] >= n; }
  std::shared_ptr<const Clock> share() const { return clock; }
  void replace(const std::shared_ptr<const Clock> &c) { clock = std::make_shared<Clock>(*c); }

  void join(uint32_t component, uint32_t n) {
    if ((*clock)[component] < n)
      own()[component] = n;
  }
  void join(const Snapshot &s) {
    if (s.base && s.base.get() != clock.get())
      join(*s.base);
    for (int i = 0; i < 2; ++i)
      if (s.comp[i] != UINT32_MAX)
        join(s.comp[i], s.seq[i]);
  }
  void join(const Clock &other) {
    const size_t n = clock->size();
    for (size_t i = 0; i < n; ++i)
      if ((*clock)[i] < other[i]) {
        Clock &mine = own();
        for (; i < n; ++i)
          if (mine[i] < other[i])
            mine[i] = other[i];
        return;
      }
  }

private:
  std::shared_ptr<Clock> clock;
  Clock &own() {
    if (clock.use_count() > 1)
      clock = std::make_shared<Clock>(*clock);
    return *clock;
  }
};

} // namespace glia::flow
