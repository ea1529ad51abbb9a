// The next thing to happen among a few dozen lanes, each with at most one pending time. Few lanes have one, and most new times are
// late ones, so a sorted list that is filled from its end beats heaps and trees. Keys order by time and then by lane.
#pragma once
#include "TimingModel.h"

#include <algorithm>

namespace glia::timing {

// First in, first out, in one block of memory.
template <class T> class Fifo {
public:
  bool empty() const { return head == tail; }
  size_t size() const { return tail - head; }
  T &front() { return items[head & mask]; }
  const T &operator[](size_t i) const { return items[(head + i) & mask]; }
  T &back() { return items[(tail - 1) & mask]; }
  void pop() { ++head; }
  void push(const T &v) { add() = v; }
  T &add() { // one more at the end, to be filled in
    if (tail - head > mask)
      grow();
    return items[tail++ & mask];
  }
  // Keeps ascending order of `time` when a later push may be earlier in time.
  void insert(const T &v) {
    if (empty() || back().time <= v.time)
      return push(v);
    add();
    size_t i = tail - 1;
    for (; i > head && items[(i - 1) & mask].time > v.time; --i)
      items[i & mask] = items[(i - 1) & mask];
    items[i & mask] = v;
  }

private:
  std::vector<T> items = std::vector<T>(4);
  size_t head = 0, tail = 0, mask = 3;
  [[gnu::noinline]] void grow() {
    std::vector<T> bigger(items.size() * 2);
    for (size_t i = head; i < tail; ++i)
      bigger[i - head] = items[i & mask];
    tail -= head;
    head = 0;
    items.swap(bigger);
    mask = items.size() - 1;
  }
};

// In ascending order of `time`, the first in first among equals. What is before the first and behind the last is kept such that no
// walk has to ask where the list ends: T::kFirst and T::kLast are earlier and later than all times.
template <class T> class Sorted {
public:
  bool empty() const { return head == tail; }
  const T &front() const { return items[head]; } // T::kLast if empty
  void pop() { items[head++].time = T::kFirst; }
  void insert(const T &v) {
    if (tail + 2 > items.size())
      toFront();
    T *at = items.data() + tail++;
    at[1].time = T::kLast;
    for (; at[-1].time > v.time; --at)
      at[0] = at[-1];
    *at = v;
  }
  template <class F> void removeIf(const F &is) { // the first such
    T *at = items.data() + head, *end = items.data() + tail;
    for (; at != end && !is(*at); ++at) {
    }
    if (at == end)
      return;
    for (--tail; at != end; ++at)
      at[0] = at[1];
  }

private:
  std::vector<T> items = std::vector<T>{{T::kFirst}, {T::kLast}};
  size_t head = 1, tail = 1;
  [[gnu::noinline]] void toFront() { // now and then: there is room for many more than are pending
    const size_t count = tail - head;
    std::vector<T> bigger;
    std::vector<T> &to = 4 * count + 8 <= items.size() ? items : (bigger.resize(512 + 4 * count), bigger);
    std::copy_n(items.begin() + static_cast<ptrdiff_t>(head), count, to.begin() + 1);
    to[0].time = T::kFirst;
    if (!bigger.empty())
      items.swap(bigger);
    head = 1;
    tail = count + 1;
  }
};

class EventQueue {
public:
  static constexpr uint32_t kLaneBits = 12;
  static uint64_t pack(Ps time, uint32_t lane) { return static_cast<uint64_t>(time) << kLaneBits | lane; }
  static Ps timeOf(uint64_t key) { return static_cast<Ps>(key >> kLaneBits); }
  static uint32_t laneOf(uint64_t key) { return static_cast<uint32_t>(key & ((1u << kLaneBits) - 1)); }

  explicit EventQueue(uint32_t cores) : ends(cores, kNobody) {}
  void add(uint32_t lane, Ps time) { keys.insert({pack(time, lane)}); } // a lane that has no time
  void move(uint32_t lane, Ps time) {                                   // whether it has one or not
    remove(lane);
    add(lane, time);
  }
  void remove(uint32_t lane) {
    keys.removeIf([lane](const Key &k) { return laneOf(k.time) == lane; });
  }
  // The end of the next transfer of a core, which moves whenever another one starts or ends, is kept aside.
  void setEnd(size_t core, uint32_t lane, Ps time) {
    const uint64_t key = time < kNever ? pack(time, lane) : kNobody;
    if (ends.size() == 1) {
      nextEnd = key;
      return;
    }
    const uint64_t before = ends[core];
    ends[core] = key;
    if (key <= nextEnd)
      nextEnd = key;
    else if (before == nextEnd)
      nextEnd = *std::min_element(ends.begin(), ends.end());
  }
  bool empty() const { return next() == kNobody; }
  bool anyBefore(uint32_t lane, Ps time) const { return next() < pack(time, lane); }
  // The next lane. It has no time any more, except for the end of a transfer.
  uint32_t take(Ps &time) {
    const uint64_t k = next();
    if (k != nextEnd)
      keys.pop();
    time = timeOf(k);
    return laneOf(k);
  }

private:
  static constexpr uint64_t kNobody = UINT64_MAX;
  struct Key {
    uint64_t time;
    static constexpr uint64_t kFirst = 0, kLast = kNobody;
  };
  Sorted<Key> keys;
  std::vector<uint64_t> ends;
  uint64_t nextEnd = kNobody;
  uint64_t next() const { return std::min(keys.front().time, nextEnd); }
};

} // namespace glia::timing
