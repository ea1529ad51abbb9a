#include "glia/Profile/LinkUse.h"

#include "glia/ISA/Collective.h"
#include "glia/Profile/TimeUse.h"
#include "glia/Program/Decode.h"
#include "glia/Sim/RankTopology.h"
#include "glia/Target/CollectiveCost.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace glia {

namespace {

using Place = std::tuple<int, Engine, uint32_t>;

// What each exchange asks for, by its instruction: loops come to it again.
class Asks {
public:
  Asks(const Program &p, const Topology &t) : p(p), t(t) {}
  const std::vector<double> &of(const TimelineEvent &e) {
    auto [it, fresh] = known.try_emplace({e.core, e.engine, e.index});
    if (fresh) {
      Decoded d;
      decode(p, e.core, e.engine, e.index, d);
      it->second = asksOf(t, exchangeTime(p, d, e.bytes));
    }
    return it->second;
  }

private:
  const Program &p;
  const Topology &t;
  std::map<Place, std::vector<double>> known;
};

} // namespace

bool isExchange(const Program &p, const TimelineEvent &e) {
  return e.lane >= p.cores * kNumEngines && isCollective(*p.opcodes[instr(p, instructionOf(e)).opcode]);
}

std::vector<LinkUse> linkUse(const Program &p, const TimingResult &r) {
  if (std::none_of(p.opcodes.begin(), p.opcodes.end(), [](const InstrDef *d) { return isCollective(*d); }))
    return {};
  const std::shared_ptr<const Topology> t = topologyOf(p);
  const std::vector<std::string> names = askNames(*t);
  Asks asks(p, *t);
  std::vector<LinkUse> all(names.size());
  std::vector<std::map<double, double>> changes(names.size());
  for (const TimelineEvent &e : r.timeline) {
    if (e.end <= e.start || !isExchange(p, e))
      continue;
    const std::vector<double> &asked = asks.of(e);
    for (size_t i = 0; i < all.size(); ++i)
      if (asked[i] > 0) { // held up by others, it takes longer and asks for less
        const double share = asked[i] * e.alone / (e.end - e.start);
        all[i].busy += asked[i] * e.alone;
        changes[i][e.start] += share;
        changes[i][e.end] -= share;
      }
  }
  std::vector<LinkUse> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].busy <= 0)
      continue;
    all[i].name = names[i];
    double now = 0;
    for (const auto &[time, by] : changes[i]) {
      now = std::max(now + by, 0.0);
      all[i].shares.emplace_back(time, now < 1e-9 ? 0 : now);
      all[i].most = std::max(all[i].most, now);
    }
    out.push_back(std::move(all[i]));
  }
  return out;
}

} // namespace glia
