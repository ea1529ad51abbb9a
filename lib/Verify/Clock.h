// What an engine knows to be complete: per component the number of the last thing that is. A component is an engine, a queue or a pipe,
// or what one of them does in a loop that is proved by an invariant; it does its things in the order of their numbers, so one number
// stands for all before it. Engines share a clock with the snapshots they hand out until it changes.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace glia::flow {

using Clock = std::vector<uint32_t>;

// Whether `a` knows something that `b` does not.
inline bool saysMore(const Clock &a, const Clock &b) {
  bool more = false; // without a way out: clocks that are compared are alike for the most part
  for (size_t i = 0; &a != &b && i < a.size(); ++i)
    more |= a[i] > b[i];
  return more;
}

// A clock at the moment of an update: `base`, and beyond it up to two components that are further. Without a base: nothing.
struct Snapshot {
  std::shared_ptr<const Clock> base;
  uint32_t comp[2] = {UINT32_MAX, UINT32_MAX};
  uint32_t seq[2] = {0, 0};
  uint32_t known(uint32_t component) const {
    uint32_t n = base ? (*base)[component] : 0;
    for (int i = 0; i < 2; ++i)
      if (comp[i] == component && seq[i] > n)
        n = seq[i];
    return n;
  }
  bool knows(uint32_t component, uint32_t n) const { return known(component) >= n; }
  // Whether it says all that `other` says, as far as that is seen at once.
  bool covers(const Snapshot &other) const {
    for (int i = 0; i < 2; ++i)
      if (other.comp[i] != UINT32_MAX && !knows(other.comp[i], other.seq[i]))
        return false;
    return !other.base || (base && !saysMore(*other.base, *base));
  }
  std::shared_ptr<const Clock> whole(size_t components) const {
    auto out = std::make_shared<Clock>(components, 0);
    for (uint32_t c = 0; c < components; ++c)
      (*out)[c] = known(c);
    return out;
  }
};

class Knowledge {
public:
  void reset(size_t components) { clock = std::make_shared<Clock>(components, 0); }
  uint32_t known(uint32_t component) const { return (*clock)[component]; }
  bool knows(uint32_t component, uint32_t n) const { return (*clock)[component] >= n; }
  std::shared_ptr<const Clock> share() const { return clock; }
  void replace(std::shared_ptr<const Clock> c) { clock = std::move(c); }

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
    if (!saysMore(other, *clock))
      return;
    Clock &mine = own();
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = std::max(mine[i], other[i]);
  }
  // What both know. Returns whether that is less than this.
  bool meet(const Clock &other) {
    if (!saysMore(*clock, other))
      return false;
    Clock &mine = own();
    for (size_t i = 0; i < mine.size(); ++i)
      mine[i] = std::min(mine[i], other[i]);
    return true;
  }

private:
  std::shared_ptr<const Clock> clock;
  Clock &own() { // nobody else sees the clock that is changed
    if (clock.use_count() > 1)
      clock = std::make_shared<Clock>(*clock);
    return const_cast<Clock &>(*clock);
  }
};

} // namespace glia::flow
