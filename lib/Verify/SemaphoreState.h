// One semaphore during the walk: what a wait on it proves (docs/ordering.md, S4 and S5).
#pragma once
#include "Clock.h"

#include <algorithm>
#include <vector>

namespace glia::flow {

struct SemaphoreUse {           // from a scan of the whole program
  uint32_t producerEngines = 0; // bit per engine component
  bool dmaProducer = false;
  uint32_t consumers = 0, waiters = 0; // bit per engine component
  bool single() const { return !dmaProducer && (producerEngines & (producerEngines - 1)) == 0; }
};

struct Guard { // S5: further additions must come after this wait
  uint32_t comp = 0, seq = 0, who = 0;
  friend bool operator==(const Guard &, const Guard &) = default;
};

// A queue that costs nothing to copy while it is empty, as most are: states are copied often.
template <class T> class Fifo {
public:
  auto begin() { return all.begin() + static_cast<ptrdiff_t>(first); }
  auto end() { return all.end(); }
  auto begin() const { return all.begin() + static_cast<ptrdiff_t>(first); }
  auto end() const { return all.end(); }
  bool empty() const { return first == all.size(); }
  size_t size() const { return all.size() - first; }
  const T &front() const { return all[first]; }
  void push_back(T t) { all.push_back(std::move(t)); }
  void pop_front() {
    if (++first * 2 > all.size()) { // each is moved once, on average
      all.erase(all.begin(), begin());
      first = 0;
    }
  }

private:
  std::vector<T> all;
  size_t first = 0; // those before it are gone
};

class SemaphoreState {
public:
  void reset(int64_t initial, bool singleProducer, size_t components) {
    single = singleProducer;
    produced = unproved = initial;
    all.reset(components);
    if (initial > 0)
      history.push_back({initial, Snapshot{all.share(), {UINT32_MAX, UINT32_MAX}, {0, 0}}});
  }
  int64_t value() const { return produced - consumed; }
  bool passable(int64_t wanted) const { return value() >= wanted; }

  // S5: the wait does not tell which additions happened.
  bool ambiguous(int64_t wanted) const { return !single && wanted > 0 && wanted > unproved && value() != wanted; }

  void pass(int64_t wanted, bool consume, uint32_t comp, uint32_t seq, uint32_t who, Knowledge &k) {
    if (consume && consumer != comp) { // another component of the engine that consumes
      if (!consumptions.empty() || countedFrom)
        close(consumer, consumptions.empty() ? countedFrom : consumptions.back().first);
      consumptions.clear();
      before = consumed;
      countedFrom = 0;
      consumer = comp;
    }
    if (wanted > 0 && single) {
      const int64_t needed = wanted + consumed;
      auto it = std::partition_point(history.begin(), history.end(), [needed](const Update &u) { return u.total < needed; });
      if (it != history.end())
        k.join(it->snapshot);
    } else if (wanted > unproved) { // a wait for what was there from the start proves nothing
      k.join(*all.share());
      auto it = std::find_if(guards.begin(), guards.end(), [comp](const Guard &g) { return g.comp == comp; });
      if (it == guards.end())
        guards.push_back({comp, seq, who});
      else
        *it = {comp, seq, who};
    }
    if (!consume)
      return;
    consumed += wanted;
    ever += wanted;
    unproved = std::max<int64_t>(unproved - wanted, 0);
    consumptions.push_back({seq, consumed});
    while (!history.empty() && history.front().total <= consumed)
      history.pop_front();
  }

  void add(int64_t amount, const Snapshot &s) {
    produced += amount;
    if (single)
      history.push_back({produced, s});
    else
      all.join(s);
  }

  // S5: the wait that an addition made with this knowledge could overtake, or null.
  const Guard *overtaken(const Snapshot &s) const {
    if (!single)
      for (const Guard &g : guards)
        if (!s.knows(g.comp, g.seq))
          return &g;
    return nullptr;
  }

  // The largest value the semaphore can have when an addition made with this knowledge happens: what the adder does not
  // know to be consumed may still be there.
  int64_t highest(const Snapshot &s) const {
    if (consumer == UINT32_MAX)
      return produced;
    const uint32_t known = s.known(consumer);
    const bool all = std::all_of(closed.begin(), closed.end(), [&s](const auto &c) { return s.knows(c.first, c.second); });
    if (known < countedFrom || !all)
      return value() + ever;
    size_t near = 1; // what an adder does not know yet is usually among the last few
    while (near < consumptions.size() && consumptions[consumptions.size() - near].first > known)
      near *= 2;
    auto it = std::partition_point(consumptions.end() - static_cast<int64_t>(std::min(near, consumptions.size())),
                                   consumptions.end(), [known](const auto &c) { return c.first <= known; });
    const int64_t gone = it == consumptions.begin() ? before : std::prev(it)->second;
    return produced - gone;
  }

  // ---- loops that are proved by an invariant (LoopState.cpp) ---------------------------------------------------
  struct Update {
    int64_t total;
    Snapshot snapshot;
  };
  int64_t produced = 0, consumed = 0;
  int64_t unproved = 0; // what is left of the initial value
  bool single = true;
  Fifo<Update> history; // S4: totals ascending, all above `consumed`
  Knowledge all;        // S5: what all additions so far stand for
  std::vector<Guard> guards;
  uint32_t consumer = UINT32_MAX;                         // component of the one engine that consumes (S3)
  std::vector<std::pair<uint32_t, uint32_t>> closed;      // its other components that did, and their last
  std::vector<std::pair<uint32_t, int64_t>> consumptions; // its instruction, total consumed by then
  int64_t before = 0;                                     // consumed before the first of them
  uint32_t countedFrom = 0;                               // who does not know the consumer up to here may know of none
  int64_t ever = 0;                                       // at least what was consumed since the program began

  void close(uint32_t comp, uint32_t seq) {
    for (auto &c : closed)
      if (c.first == comp) {
        c.second = std::max(c.second, seq);
        return;
      }
    closed.emplace_back(comp, seq);
  }

  // All totals, less `amount`.
  void lower(int64_t amount) {
    produced -= amount, consumed -= amount, before -= amount;
    for (Update &u : history)
      u.total -= amount;
    for (auto &c : consumptions)
      c.second -= amount;
  }
};

} // namespace glia::flow
