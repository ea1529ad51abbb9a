#include "EngineShares.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace glia {

namespace {

// Equal instructions: how many of them each engine has.
struct Kind {
  EngineShares::Costs costs{}, share{}, due{};
  double count = 0;
};

// One step from a busy engine to one that has less to do and is good at it; from the busiest that can give something away. False if there
// is none.
bool improve(std::vector<Kind *> &kinds, EngineShares::Costs &load) {
  constexpr double kLeast = 0.01; // of an instruction
  constexpr double kAtOnce = 8;   // steps that a kind takes at least to go elsewhere: others get their turn
  std::array<size_t, kNumEngines> byLoad;
  std::iota(byLoad.begin(), byLoad.end(), size_t{0});
  std::sort(byLoad.begin(), byLoad.end(),
            [&](size_t a, size_t b) { return load[a] != load[b] ? load[a] > load[b] : a < b; });
  for (size_t from : byLoad) {
    Kind *best = nullptr;
    size_t to = 0;
    double bestGain = 0, amount = 0;
    for (Kind *k : kinds) {
      if (k->share[from] < kLeast)
        continue;
      for (size_t e = 0; e < load.size(); ++e) {
        if (e == from || !std::isfinite(k->costs[e]) || load[e] >= load[from])
          continue;
        const double gain = k->costs[from] / k->costs[e];
        const double even = (load[from] - load[e]) / (k->costs[from] + k->costs[e]);
        const double n = std::min({even, k->share[from], std::max(k->count / kAtOnce, 1.0)});
        if (n >= kLeast && gain > bestGain)
          best = k, to = e, bestGain = gain, amount = n;
      }
    }
    if (!best)
      continue;
    best->share[from] -= amount;
    best->share[to] += amount;
    load[from] -= amount * best->costs[from];
    load[to] += amount * best->costs[to];
    return true;
  }
  return false;
}

} // namespace

std::vector<Engine> EngineShares::solve() const {
  constexpr int kMostSteps = 1000;
  std::map<std::pair<Engine, Costs>, Kind> kinds;
  std::vector<Kind *> all; // in the order of the program
  Costs busy = load;
  for (const Item &i : items) {
    const auto [it, fresh] = kinds.try_emplace({i.usual, i.costs});
    Kind &k = it->second;
    if (fresh) {
      k.costs = i.costs;
      all.push_back(&k);
    }
    k.count += 1;
    k.share[static_cast<size_t>(i.usual)] += 1;
    busy[static_cast<size_t>(i.usual)] += i.costs[static_cast<size_t>(i.usual)];
  }
  for (int step = 0; step < kMostSteps && improve(all, busy); ++step) {
  }
  std::vector<Engine> out;
  for (const Item &i : items) {
    Kind &k = kinds.at({i.usual, i.costs});
    size_t next = static_cast<size_t>(i.usual);
    for (size_t e = 0; e < k.due.size(); ++e) {
      k.due[e] += k.share[e] / k.count;
      if (k.due[e] > k.due[next] + 1e-9)
        next = e;
    }
    k.due[next] -= 1;
    out.push_back(static_cast<Engine>(next));
  }
  return out;
}

} // namespace glia
