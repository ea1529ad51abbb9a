// One semaphore during the walk: what a wait on it proves (docs/ordering.md, S4 and S5).
#pragma once
#include "Clock.h"

#include <algorithm>
#include <deque>

namespace glia::flow {

struct SemaphoreUse {           // from a scan of the whole program
  uint32_t producerEngines = 0; // bit per engine component
  bool dmaProducer = false;
  uint32_t consumers = 0, waiters = 0; // bit per engine component
  bool single() const { return !dmaProducer && (producerEngines & (producerEngines - 1)) == 0; }
};

struct Guard { // S5: further additions must come after this wait
  uint32_t comp = 0, seq = 0, who = 0;
};

class SemaphoreState {
public:
  void reset(int64_t initialValue, bool singleProducer, size_t components) {
    initial = initialValue;
    single = singleProducer;
    all.reset(components);
  }
  int64_t value() const { return initial + produced - consumed; }
  bool passable(int64_t wanted) const { return value() >= wanted; }

  // S5: the wait does not tell which additions happened.
  bool ambiguous(int64_t wanted) const { return !single && wanted > 0 && wanted + consumed > initial && value() != wanted; }

  void pass(int64_t wanted, bool consume, uint32_t comp, uint32_t seq, uint32_t who, Knowledge &k) {
    if (consume)
      consumer = comp;
    const int64_t needed = wanted + consumed - initial;
    if (wanted > 0 && needed > 0) { // a wait for 0 proves nothing
      if (single) {
        auto it =
            std::partition_point(history.begin(), history.end(), [needed](const Update &u) { return u.total < needed; });
        if (it != history.end())
          k.join(it->snapshot);
      } else {
        k.join(*all.share());
        for (Guard &g : guards)
          if (g.comp == comp) {
            g = {comp, seq, who};
            comp = UINT32_MAX;
          }
        if (comp != UINT32_MAX)
          guards.push_back({comp, seq, who});
      }
    }
    if (!consume)
      return;
    consumed += wanted;
    consumptions.push_back({seq, consumed});
    while (!history.empty() && history.front().total <= consumed - initial)
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
    int64_t gone = 0;
    if (!consumptions.empty()) {
      const uint32_t known = s.known(consumer);
      size_t near = 1; // what an adder does not know yet is usually among the last few
      while (near < consumptions.size() && consumptions[consumptions.size() - near].first > known)
        near *= 2;
      auto it = std::partition_point(consumptions.end() - static_cast<int64_t>(std::min(near, consumptions.size())),
                                     consumptions.end(), [known](const auto &c) { return c.first <= known; });
      gone = it == consumptions.begin() ? 0 : std::prev(it)->second;
    }
    return initial + produced - gone;
  }

  // Leaving a loop that may not have run: what its additions stood for is not certain.
  struct Before {
    std::shared_ptr<const Clock> all;
    int64_t produced = 0;
  };
  Before before() const { return {all.share(), produced}; }
  void forget(const Before &b) {
    all.replace(b.all);
    const auto nothing = std::make_shared<const Clock>(b.all->size(), 0);
    for (Update &u : history)
      if (u.total > b.produced)
        u.snapshot = Snapshot{nothing, {UINT32_MAX, UINT32_MAX}, {0, 0}};
  }

private:
  struct Update {
    int64_t total;
    Snapshot snapshot;
  };
  int64_t initial = 0, produced = 0, consumed = 0;
  bool single = true;
  std::deque<Update> history; // S4: totals ascending
  Knowledge all;              // S5: what all additions so far stand for
  std::vector<Guard> guards;
  uint32_t consumer = 0;                                  // component of the one engine that consumes (S3)
  std::vector<std::pair<uint32_t, int64_t>> consumptions; // its instruction, total consumed by then
};

} // namespace glia::flow
