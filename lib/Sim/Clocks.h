// Vector clocks: who knows what to have happened. One component per engine, per queue and per pipe.
// A queue's component counts its transfers; k means that transfer k and (D3) all before it are complete.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

namespace glia::sim {

using Clock = std::vector<uint32_t>;

inline void join(Clock &into, const Clock &from) {
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

// What a semaphore carries. A wait learns what the shortest run of additions (in order of arrival) that reaches its value
// stands for, counting the initial value and what was consumed before: statements S4 and S5 of docs/ordering.md.
class SemaphoreClock {
public:
  SemaphoreClock(int32_t initial, size_t components, std::vector<uint16_t> waiters)
      : value(initial), initial(initial), floor(components), waiters(std::move(waiters)), reached(this->waiters.size()) {}

  int32_t value;

  // An addition. One that proves nothing by itself (any part of a transfer but its last) has no clock.
  void add(int32_t amount, const Clock *clock) {
    if (clock) {
      entries.push_back({added, entries.empty() ? floor : entries.back().known});
      join(entries.back().known, *clock);
    }
    added += amount;
    value += amount;
  }
  // `-=` and `=`: outside the proved forms. Every later wait learns what the writer and all before it knew.
  void set(int32_t v, const Clock &clock) {
    if (!entries.empty())
      floor = entries.back().known;
    entries.clear();
    join(floor, clock);
    consumed += value - v;
    value = v;
  }
  // Engine `who` has seen the semaphore reach v.
  void wait(int32_t v, bool consume, uint16_t who, Clock &into) {
    const int64_t need = int64_t{v} + consumed - initial;
    const auto past = std::partition_point(entries.begin(), entries.end(), [&](const Entry &e) { return e.before < need; });
    join(into, past == entries.begin() ? floor : std::prev(past)->known);
    if (consume) {
      consumed += v;
      value -= v;
    }
    // What every waiter has already learnt need not be kept one by one.
    int64_t all = INT64_MAX;
    for (size_t i = 0; i < waiters.size(); ++i) {
      if (waiters[i] == who)
        reached[i] = std::max(reached[i], need);
      all = std::min(all, reached[i]);
    }
    while (!entries.empty() && entries.front().before < all) {
      floor = std::move(entries.front().known);
      entries.pop_front();
    }
  }
  size_t memory() const { return entries.size() * (sizeof(Entry) + floor.size() * sizeof(uint32_t)); }

private:
  struct Entry {
    int64_t before; // sum of the additions before this one
    Clock known;    // everything up to this one
  };
  int64_t initial, added = 0, consumed = 0;
  Clock floor;
  std::deque<Entry> entries;
  std::vector<uint16_t> waiters; // engines that wait on it anywhere in the program
  std::vector<int64_t> reached;
};

} // namespace glia::sim
