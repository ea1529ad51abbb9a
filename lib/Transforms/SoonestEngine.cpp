#include "SoonestEngine.h"
#include "InstrFacts.h"

#include <algorithm>

namespace glia {

using nisa::Instr;

SoonestEngine::Times SoonestEngine::timesOf(Instr i, Engine e) const {
  const bool moves = i.def().unit == Unit::Dma; // an engine goes on while data move
  double begin = moves ? 0 : free[static_cast<size_t>(e)];
  for (size_t k = 0; k < i.def().slots.size(); ++k) {
    const int slot = static_cast<int>(k);
    const auto it = i.tensor(slot) && i.reads(slot) ? results.find(i.tensor(slot)) : results.end();
    if (it != results.end())
      begin = std::max(begin, it->second.engine == e && !moves ? it->second.own : it->second.there);
  }
  if (moves)
    return {begin, begin, begin, begin + target.number("dma.fixed_latency")};
  if (!i.def().cost)
    return {begin, begin, begin, begin};
  const Cost c = i.def().cost(nisa::InstrCost(i, target, e));
  const double latency = std::max(c.busy, c.latency);
  const double own = c.lead > 0 ? std::max(c.busy, c.lead) : latency; // one element after the other
  return {begin, begin + c.busy, begin + own, begin + latency + target.number("cost.semaphore_latency")};
}

Engine SoonestEngine::choose(Instr i, llvm::ArrayRef<Engine> engines) const {
  Engine best = engines.front();
  double least = timesOf(i, best).there;
  for (Engine e : engines.drop_front())
    if (const double there = timesOf(i, e).there; there < least)
      best = e, least = there;
  return best;
}

void SoonestEngine::issued(Instr i, Engine e) {
  const Times t = timesOf(i, e);
  const bool moves = i.def().unit == Unit::Dma;
  if (!moves)
    free[static_cast<size_t>(e)] = t.through;
  for (size_t k = 0; k < i.def().slots.size(); ++k)
    if (const int slot = static_cast<int>(k); i.tensor(slot) && i.writes(slot)) {
      Result &r = results[i.tensor(slot)];
      if (r.there <= t.there)
        r = {moves ? Engine::Sync : e, t.own, t.there};
    }
}

} // namespace glia
