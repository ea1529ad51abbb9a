#include "TimingCosts.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::timing {

Ps toPs(double ns) {
  if (!(ns >= 0) || ns > 1e12)
    throw Error("TIME-LONG", format("an instruction would take %g ns", ns), "Check the target's cost parameters.");
  return static_cast<Ps>(ns * 1000 + 0.5);
}

namespace {

class Query final : public CostQuery {
public:
  Query(const Program &p, const Decoded &d, const Target &t) : CostQuery(*d.def, t, d.engine), p(p), d(d) {}
  bool has(int slot) const override { return d.values[slot].kind == Value::Tensor; }
  const Pattern &pattern(int slot) const override { return p.patterns[d.values[slot].access.pattern]; }
  Space space(int slot) const override { return has(slot) ? p.space(d.values[slot].access.object) : Space::Sbuf; }
  int32_t integer(int slot) const override { return d.values[slot].integer; }
  float number(int slot) const override { return d.values[slot].number; }

private:
  const Program &p;
  const Decoded &d;
};

bool isTimeKey(std::string_view key) {
  for (std::string_view s : {"clock.", "cost.", "dma.", "hbm.", "fetch."})
    if (key.starts_with(s))
      return true;
  return false;
}

} // namespace

Sensitivity::Sensitivity(const Target &t, std::vector<std::string> &assumedNames) : target(t) {
  for (auto &[key, v] : target.values)
    if (isTimeKey(key)) {
      byOrigin[static_cast<int>(v.origin)].push_back(&v);
      if (v.origin == Origin::Assumed)
        assumedNames.push_back(key);
    }
}

CostEntry Costs::of(const Decoded &d) {
  CostEntry c;
  if (!d.def->cost)
    throw Error("TIME-COST", format("`%s` has no cost formula", std::string(d.def->name).c_str()));
  auto costOn = [&](const Target &target) { return d.def->cost(Query(p, d, target)); };
  const Cost base = costOn(t);
  c.busy = toPs(base.busy);
  c.latency = toPs(base.latency);
  c.lead = base.lead > 0 ? std::min(toPs(base.lead), c.latency) : c.latency;
  c.work = c.latency - c.lead;
  c.setup = toPs(base.setup);
  c.reload = toPs(base.reload);
  c.tile = base.tile;
  c.issue = toPs(base.issue);
  const Flow flow = d.def->flow;
  c.streamsOut = base.lead > 0 && (flow == Flow::Elementwise || flow == Flow::Copy || flow == Flow::Scan);
  c.streamsIn = base.lead > 0 && (c.streamsOut || flow == Flow::Reduce);
  auto both = sensitivity.shares<2>([&](const Target &target) {
    const Cost x = costOn(target);
    return std::array<double, 2>{x.busy, x.latency};
  });
  c.busyShare = both[0];
  c.latencyShare = both[1];
  c.busyStep = Path::stepOf(c.busy, c.busyShare);
  c.latencyStep = Path::stepOf(c.latency, c.latencyShare);
  if (hands(d.def->unit)) {
    c.transfer = transferOf(p, d, t);
    c.transfer.share = sensitivity.shares<1>(
        [&](const Target &target) { return std::array<double, 1>{static_cast<double>(transferOf(p, d, target).work)}; })[0];
  }
  return c;
}

Param param(const Target &t, const Lowered &l, std::string_view key) {
  const TargetValue &v = t.value(key);
  Param out;
  out.share = Share{{v.origin == Origin::Documented ? 1.0 : 0.0, v.origin == Origin::Derived ? 1.0 : 0.0}, 0};
  if (v.origin == Origin::Assumed)
    for (size_t i = 0; i < l.assumedNames.size(); ++i)
      if (l.assumedNames[i] == key)
        out.share.assumed = uint64_t{1} << std::min<size_t>(i, 63);
  out.set(toPs(v.number));
  return out;
}

} // namespace glia::timing
