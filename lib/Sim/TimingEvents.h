// The next thing to happen among a few dozen lanes, each with at most one pending time: a tournament tree over packed keys. No heap
// is needed, since every lane is in order by itself.
#pragma once
#include "TimingModel.h"

#include <algorithm>

namespace glia::timing {

class EventTree {
public:
  explicit EventTree(uint32_t lanes) {
    while (width < lanes)
      width *= 2;
    node.assign(2 * width, pack(kNever, 0));
    for (uint32_t i = 0; i < width; ++i)
      node[width + i] = pack(kNever, i);
    for (uint32_t i = width; --i > 0;)
      node[i] = std::min(node[2 * i], node[2 * i + 1]);
  }
  void set(uint32_t lane, Ps time) {
    uint32_t i = width + lane;
    uint64_t k = pack(time, lane);
    if (node[i] == k)
      return;
    node[i] = k;
    while (i > 1) {
      k = std::min(k, node[i ^ 1]);
      i /= 2;
      if (node[i] == k) // nothing above changes either
        return;
      node[i] = k;
    }
  }
  Ps time() const { return static_cast<Ps>(node[1] >> kLaneBits); }
  uint32_t lane() const { return static_cast<uint32_t>(node[1] & ((1u << kLaneBits) - 1)); }
  static constexpr uint32_t kLaneBits = 12;

private:
  uint32_t width = 1;
  std::vector<uint64_t> node;
  static uint64_t pack(Ps time, uint32_t lane) { return static_cast<uint64_t>(time) << kLaneBits | lane; }
};

// First in, first out, in one block of memory.
template <class T> class Fifo {
public:
  bool empty() const { return head == tail; }
  size_t size() const { return tail - head; }
  T &front() { return items[head & mask]; }
  T &back() { return items[(tail - 1) & mask]; }
  void pop() { ++head; }
  void push(const T &v) { add() = v; }
  T &add() { // one more at the end, to be filled in
    if (items.empty() || tail - head > mask)
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
  std::vector<T> items;
  size_t head = 0, tail = 0, mask = 0;
  void grow() {
    std::vector<T> bigger(items.empty() ? 4 : items.size() * 2);
    for (size_t i = head; i < tail; ++i)
      bigger[i - head] = items[i & mask];
    tail -= head;
    head = 0;
    items.swap(bigger);
    mask = items.size() - 1;
  }
};

} // namespace glia::timing
