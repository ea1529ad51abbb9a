#include "glia/Target/CollectiveCost.h"
#include "CollectivePlan.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace glia {

using collective::pairsStage, collective::Plan, collective::planOf;

std::string_view algorithmName(CollectiveAlgorithm a) {
  static constexpr std::string_view kNames[] = {"mesh", "single-step mesh", "rdh",   "kangaring",
                                                "ring", "flat ring",        "pairs", "tree"};
  return kNames[static_cast<int>(a)];
}

std::string algorithmsOf(const CollectiveTime &t) {
  std::string out;
  for (size_t i = 0; i < t.stages.size(); ++i) {
    const CollectiveStage &s = t.stages[i];
    if (i > 0 && s.algorithm == t.stages[i - 1].algorithm && s.network == t.stages[i - 1].network)
      continue;
    out += (out.empty() ? "" : " + ") + std::string(algorithmName(s.algorithm)) + (s.network ? " (efa)" : "");
  }
  return out.empty() ? "none" : out;
}

namespace {

Plan checkedPlan(const Topology &t, CollectiveKind kind, int64_t bytes, std::span<const int> group) {
  if (bytes < 0)
    throw Error("TOPOLOGY-OPTION", format("a collective of %lld bytes cannot be", (long long)bytes), "Give 0 or more.");
  std::set<int> seen;
  for (const int r : group) {
    t.place(r);
    if (!seen.insert(r).second)
      throw Error("TOPOLOGY-RANK", format("rank %d is in the group twice", r), "A group names each of its ranks once.");
  }
  return group.size() < 2 ? Plan{} : planOf(t, kind, static_cast<double>(bytes), group);
}

CollectiveTime timeOf(const Topology &t, Plan plan) {
  CollectiveTime out;
  out.stages = std::move(plan);
  if (out.stages.empty())
    return out;
  out.start = t.number("collective.start");
  for (const CollectiveStage &s : out.stages)
    out.latency += s.latency, out.bandwidth += s.bandwidth, out.steps += s.steps;
  out.total = out.start + out.latency + out.bandwidth;
  return out;
}

std::string nameOf(const Topology &t, int axis) {
  return axis == LinkLoad::kEfa ? "efa" : t.axes[static_cast<size_t>(axis)].name;
}

} // namespace

CollectiveTime collectiveTime(const Topology &t, CollectiveKind kind, int64_t bytes, std::span<const int> group) {
  return timeOf(t, checkedPlan(t, kind, bytes, group));
}

CollectiveTime collectiveTime(const Topology &t, CollectiveKind kind, int64_t bytes,
                              std::span<const std::vector<int>> groups) {
  if (kind == CollectiveKind::Permute) {
    std::vector<std::pair<int, int>> all;
    for (const std::vector<int> &g : groups)
      if (g.size() == 2 && g[0] != g[1])
        all.emplace_back(g[0], g[1]);
    return timeOf(t, all.empty() ? Plan{} : Plan{pairsStage(t, all, static_cast<double>(bytes))});
  }
  std::vector<Plan> plans;
  std::map<std::tuple<size_t, int, int, int>, double> together; // by stage and link
  for (const std::vector<int> &g : groups) {
    plans.push_back(checkedPlan(t, kind, bytes, g));
    for (size_t i = 0; i < plans.back().size(); ++i)
      for (const LinkLoad &l : plans.back()[i].loads)
        together[{i, l.instance, l.axis, l.at}] += l.ns;
  }
  CollectiveTime longest;
  for (Plan &plan : plans) {
    for (size_t i = 0; i < plan.size(); ++i)
      for (LinkLoad &l : plan[i].loads) {
        l.ns = together[{i, l.instance, l.axis, l.at}];
        if (l.ns > plan[i].bandwidth)
          plan[i].bandwidth = l.ns, plan[i].bound = nameOf(t, l.axis);
      }
    if (CollectiveTime time = timeOf(t, std::move(plan)); time.total > longest.total)
      longest = std::move(time);
  }
  return longest;
}

enum { kRank, kHbm, kEfa, kFirstAxis }; // things that are shared

std::vector<std::string> askNames(const Topology &t) {
  std::vector<std::string> out = {"engines of a rank", "HBM of a rank", "EFA"};
  for (const TopologyAxis &a : t.axes)
    out.push_back("links along " + a.name);
  return out;
}

std::vector<double> asksOf(const Topology &t, const CollectiveTime &time) {
  std::vector<double> out(kFirstAxis + t.axes.size());
  for (const CollectiveStage &s : time.stages) {
    std::vector<double> asked(out.size());
    asked[kRank] = s.rank;
    asked[kHbm] = s.hbm;
    if (s.network)
      asked[kEfa] = s.bandwidth; // of the rank's share
    for (const LinkLoad &l : s.loads)
      if (l.axis != LinkLoad::kEfa)
        asked[static_cast<size_t>(kFirstAxis + l.axis)] = std::max(asked[static_cast<size_t>(kFirstAxis + l.axis)], l.ns);
    for (size_t i = 0; i < out.size(); ++i)
      out[i] += asked[i] / time.total;
  }
  return out;
}

} // namespace glia
