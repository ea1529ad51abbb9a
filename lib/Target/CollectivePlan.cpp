// The published algorithms: inside an instance, between instances, and in pairs.
#include "CollectivePlan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace glia::collective {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

namespace {

// How often a byte that a rank passes on touches its HBM: read and write, with a reduction two reads and a write. A rank of
// KangaRing does it for two (intra-node collectives page).
double touches(Kind kind, Algorithm a) {
  const bool reduces = kind == Kind::ReduceScatter || kind == Kind::AllReduce;
  return a == Algorithm::KangaRing ? (reduces ? 2 : 1.5) : (reduces ? 3 : 2);
}

double timeOf(const Plan &p) {
  double sum = 0;
  for (const CollectiveStage &s : p)
    sum += s.latency + s.bandwidth;
  return sum;
}

const Plan &fastest(const std::vector<Plan> &plans) {
  return *std::min_element(plans.begin(), plans.end(), [](const Plan &a, const Plan &b) { return timeOf(a) < timeOf(b); });
}

Plan operator+(Plan a, const Plan &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The ranks of a group in one instance, by chips.
class Local {
public:
  Local(const Topology &t, std::span<const int> ranks) : t(t), n(static_cast<int>(ranks.size())) {
    std::map<int, int> counts;
    for (const int r : ranks)
      ++counts[t.place(r).chip];
    for (auto [chip, count] : counts)
      chips.push_back(chip), perChip.push_back(count), most = std::max(most, count), least = std::min(least, count);
    for (int a = 0; a < static_cast<int>(t.axes.size()); ++a)
      for (const int c : chips)
        if (t.coordinate(a, c) != t.coordinate(a, chips.front())) {
          used.push_back(a);
          break;
        }
  }

  Plan best(Kind kind, double bytes) const {
    switch (kind) {
    case Kind::AllGather:
    case Kind::ReduceScatter: return fastest(gathers(kind, bytes));
    case Kind::AllReduce: {
      std::vector<Plan> plans{best(Kind::ReduceScatter, bytes) + best(Kind::AllGather, bytes)};
      plans.push_back(
          {mesh(kind, Algorithm::SingleMesh, 1, (n - 1) * bytes, [&](int from, int to) { return from * to * bytes; })});
      return fastest(plans);
    }
    case Kind::AllToAll:
      return {mesh(kind, Algorithm::Mesh, 1, bytes * (n - 1) / n, [&](int from, int to) { return from * to * bytes / n; })};
    case Kind::Broadcast: return fastest({{ringStage(kind, Algorithm::Ring, n - 1, bytes)}, {tree(bytes)}});
    case Kind::Permute: break;
    }
    return {};
  }

private:
  const Topology &t;
  int n;
  std::vector<int> chips, perChip; // chips that take part, and how many ranks of each
  std::vector<int> used;           // axes along which they differ
  int most = 0, least = INT32_MAX;

  // Bytes per ns that the engines of a rank move in an algorithm.
  double rate(std::string_view algorithm) const {
    return t.number("collective." + std::string(algorithm) + "_bytes_per_ns") * t.lnc;
  }
  double step() const { return t.number("collective.step"); }

  CollectiveStage stage(Kind kind, Algorithm a, int steps, std::string_view engine, double bytes) const {
    CollectiveStage s;
    s.kind = kind;
    s.algorithm = a;
    s.steps = steps;
    s.latency = steps * step();
    if (most > 1)
      s.links.emplace_back("chip");
    for (const int x : used)
      s.links.push_back(t.axes[x].name);
    s.rank = bytes / rate(engine);
    s.hbm = bytes * touches(kind, a) / (t.hbmBytesPerNs / t.ranksPerChip());
    limit(s, s.rank, "rank");
    limit(s, s.hbm, "hbm");
    return s;
  }
  static void limit(CollectiveStage &s, double ns, const std::string &what) {
    if (s.bound.empty() || ns > s.bandwidth)
      s.bandwidth = ns, s.bound = what;
  }
  void load(CollectiveStage &s, int axis, int chip, double ns) const {
    s.loads.push_back({0, axis, chip, ns});
    limit(s, ns, t.axes[axis].name);
  }

  // All chips to all others, routed: a byte costs every axis as many times as it hops along it.
  CollectiveStage mesh(Kind kind, Algorithm a, int steps, double bytes,
                       const std::function<double(int, int)> &between) const {
    CollectiveStage s = stage(kind, a, steps, "mesh", bytes);
    double longest = 0;
    for (const int x : used)
      for (size_t i = 0; i < chips.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < chips.size(); ++j)
          sum += t.hops(x, chips[i], chips[j]) * between(perChip[i], perChip[j]);
        load(s, x, chips[i], sum / t.axes[x].bytesPerNs);
      }
    for (size_t i = 0; i < chips.size(); ++i)
      for (size_t j = i + 1; j < chips.size(); ++j)
        longest = std::max(longest, furtherHops(chips[i], chips[j]));
    s.latency += longest;
    return s;
  }
  // What the hops after the first add.
  double furtherHops(int a, int b) const {
    double sum = 0;
    bool first = true;
    for (const int x : used)
      for (int h = t.hops(x, a, b); h > 0; --h, first = false)
        sum += first ? 0 : t.axes[x].latency;
    return sum;
  }

  // In every step each chip exchanges all it has with a partner; before or after that the ranks of a chip share.
  CollectiveStage rdh(Kind kind, double bytes) const {
    const int rounds = std::countr_zero(chips.size());
    CollectiveStage s = stage(kind, Algorithm::Rdh, rounds + (most > 1), "rdh", bytes * (n - 1) / n);
    std::map<int, double> along;                 // ns, by axis, of the chip that has most in each round
    std::map<std::pair<int, int>, double> loads; // by axis and chip
    for (int r = 0; r < rounds; ++r) {
      double further = 0;
      std::map<int, double> worst;
      for (size_t i = 0; i < chips.size(); ++i) {
        const int partner = chips[i ^ (size_t{1} << r)];
        further = std::max(further, furtherHops(chips[i], partner));
        for (const int x : used) {
          const double ns = t.hops(x, chips[i], partner) * std::ldexp(bytes / n * most, r) / t.axes[x].bytesPerNs;
          worst[x] = std::max(worst[x], ns);
          loads[{x, chips[i]}] += ns;
        }
      }
      s.latency += further;
      for (auto [x, ns] : worst)
        along[x] += ns;
    }
    for (auto [x, ns] : along)
      limit(s, ns, t.axes[x].name);
    for (auto [where, ns] : loads)
      load(s, where.first, where.second, ns);
    return s;
  }

  // `bytes` leave every chip, over all links that the group uses; a chip whose neighbours take no part reaches further.
  CollectiveStage ringStage(Kind kind, Algorithm a, int steps, double bytes) const {
    CollectiveStage s = stage(kind, a, steps, "ring", bytes);
    if (chips.size() == 1)
      return s;
    double width = 0, sum = 0;
    for (const int x : used)
      width += t.axes[x].bytesPerNs;
    for (const int c : chips) {
      int nearest = INT32_MAX;
      for (const int d : chips) {
        int distance = 0;
        for (const int x : used)
          distance += t.hops(x, c, d);
        if (c != d)
          nearest = std::min(nearest, distance);
      }
      sum += nearest;
    }
    const double ns = bytes * sum / static_cast<double>(chips.size()) / width;
    limit(s, ns, used.size() == 1 ? t.axes[used[0]].name : "links");
    for (const int x : used)
      for (const int c : chips)
        s.loads.push_back({0, x, c, ns});
    return s;
  }

  CollectiveStage tree(double bytes) const {
    const int rounds = std::bit_width(static_cast<unsigned>(n - 1));
    return stage(Kind::Broadcast, Algorithm::Tree, rounds, "pair", rounds * bytes);
  }

  // What AllGather can do; ReduceScatter is its mirror image.
  std::vector<Plan> gathers(Kind kind, double bytes) const {
    const double traffic = bytes * (n - 1) / n;
    std::vector<Plan> plans;
    plans.push_back({mesh(kind, Algorithm::Mesh, (chips.size() > 1) + (most > 1), traffic,
                          [&](int from, int) { return from * bytes / n; })});
    plans.push_back({ringStage(kind, Algorithm::Ring, n - 1, traffic)});
    if (most == least && std::has_single_bit(chips.size()) && std::has_single_bit(static_cast<unsigned>(most)))
      plans.push_back({rdh(kind, bytes)});
    // Pairs of ranks of a chip, all of which take part.
    if (least == t.ranksPerChip() && least % 2 == 0)
      plans.push_back({ringStage(kind, Algorithm::KangaRing, n / 2, traffic)});
    return plans;
  }
};

// One rank of each of `x` instances, by EFA.
CollectiveStage networkStage(const Topology &t, Kind kind, Algorithm a, int steps, std::string_view share, double bytes) {
  CollectiveStage s;
  s.kind = kind;
  s.algorithm = a;
  s.network = true;
  s.steps = steps;
  s.latency = steps * t.efaLatency;
  s.bandwidth = bytes / (t.efaBytesPerNsOfRank() * t.number("efa." + std::string(share) + "_share"));
  s.bound = "efa";
  s.links = {"efa"};
  return s;
}

Plan network(const Topology &t, Kind kind, int x, double bytes) {
  const double traffic = bytes * (x - 1) / x;
  const int rounds = std::bit_width(static_cast<unsigned>(x - 1));
  switch (kind) {
  case Kind::AllGather:
  case Kind::ReduceScatter: {
    std::vector<Plan> plans{{networkStage(t, kind, Algorithm::Mesh, 1, "mesh", traffic)},
                            {networkStage(t, kind, Algorithm::Ring, x - 1, "ring", traffic)}};
    if (std::has_single_bit(static_cast<unsigned>(x)))
      plans.push_back({networkStage(t, kind, Algorithm::Rdh, rounds, "rdh", traffic)});
    return fastest(plans);
  }
  case Kind::AllReduce:
    return fastest({network(t, Kind::ReduceScatter, x, bytes) + network(t, Kind::AllGather, x, bytes),
                    {networkStage(t, kind, Algorithm::SingleMesh, 1, "mesh", (x - 1) * bytes)}});
  case Kind::AllToAll: return {networkStage(t, kind, Algorithm::Mesh, 1, "mesh", traffic)};
  case Kind::Broadcast:
    return fastest({{networkStage(t, kind, Algorithm::Ring, x - 1, "ring", bytes)},
                    {networkStage(t, kind, Algorithm::Tree, rounds, "rdh", rounds * bytes)}});
  case Kind::Permute: break;
  }
  return {};
}

// A ring through all ranks of all instances; several rings side by side use all network interfaces of the hosts they leave.
CollectiveStage flatRing(const Topology &t, Kind kind, std::span<const int> group, int instances, double bytes) {
  const int n = static_cast<int>(group.size());
  const int rounds = kind == Kind::AllReduce ? 2 : 1, crossings = std::min(instances, n - 1);
  const double traffic = rounds * bytes * (n - 1) / n;
  CollectiveStage s;
  s.kind = kind;
  s.algorithm = Algorithm::FlatRing;
  s.network = true;
  s.steps = rounds * (n - 1);
  s.latency = rounds * ((n - 1 - crossings) * t.number("collective.step") + crossings * t.efaLatency);
  s.links = {"chip"};
  for (const TopologyAxis &a : t.axes)
    s.links.push_back(a.name);
  s.links.emplace_back("efa");
  const double engines = traffic / (t.number("collective.ring_bytes_per_ns") * t.lnc),
               interfaces = traffic / (t.efaBytesPerNs * t.number("efa.ring_share"));
  s.bandwidth = std::max(engines, interfaces);
  s.bound = engines > interfaces ? "rank" : "efa";
  s.rank = engines;
  std::set<std::pair<int, int>> hosts;
  for (const int r : group)
    hosts.insert({t.place(r).instance, t.place(r).host});
  for (const auto &[instance, host] : hosts)
    s.loads.push_back({instance, LinkLoad::kEfa, host, interfaces});
  return s;
}

} // namespace

CollectiveStage pairsStage(const Topology &t, std::span<const std::pair<int, int>> all, double bytes) {
  CollectiveStage s;
  s.kind = Kind::Permute;
  s.algorithm = Algorithm::Pairs;
  s.steps = 1;
  std::set<std::string> links;
  std::map<std::tuple<int, int, int>, double> loads; // by instance, axis and chip
  for (const auto &[from, to] : all) {
    const RankPath p = t.path(from, to);
    if (p.reach == Reach::Self)
      continue;
    s.latency = std::max(s.latency, p.latency);
    s.bandwidth = std::max(s.bandwidth, bytes / p.bytesPerNs);
    if (p.reach == Reach::Network)
      s.network = true, links.insert("efa");
    else if (p.reach == Reach::Chip)
      links.insert("chip");
    const RankPlace at = t.place(from);
    for (size_t x = 0; x < p.hops.size(); ++x)
      if (p.hops[x]) {
        links.insert(t.axes[x].name);
        loads[{at.instance, static_cast<int>(x), at.chip}] += p.hops[x] * bytes / t.axes[x].bytesPerNs;
      }
  }
  s.rank = s.bandwidth;
  s.bound = s.network ? "efa" : "rank";
  for (const auto &[where, ns] : loads) {
    const auto [instance, axis, chip] = where;
    s.loads.push_back({instance, axis, chip, ns});
    if (ns > s.bandwidth)
      s.bandwidth = ns, s.bound = t.axes[static_cast<size_t>(axis)].name;
  }
  s.links.assign(links.begin(), links.end());
  return s;
}

Plan planOf(const Topology &t, Kind kind, double bytes, std::span<const int> group) {
  if (kind == Kind::Permute) {
    std::vector<std::pair<int, int>> all;
    for (size_t i = 0; i < group.size(); ++i)
      all.emplace_back(group[i], group[(i + 1) % group.size()]);
    return {pairsStage(t, all, bytes)};
  }
  std::map<int, std::vector<int>> byInstance;
  for (const int r : group)
    byInstance[r / t.ranksPerInstance()].push_back(r % t.ranksPerInstance());
  const std::vector<int> *largest = &byInstance.begin()->second;
  bool symmetric = true;
  for (auto &[instance, ranks] : byInstance) {
    std::sort(ranks.begin(), ranks.end());
    symmetric &= ranks == *largest;
    if (ranks.size() > largest->size())
      largest = &ranks;
  }
  const int x = static_cast<int>(byInstance.size());
  const int y = static_cast<int>(largest->size());
  const Local local(t, *largest);
  auto inside = [&](Kind k) { // in every instance
    Plan plan = y > 1 ? local.best(k, bytes) : Plan{};
    for (CollectiveStage &s : plan) {
      std::vector<LinkLoad> loads;
      for (const auto &[instance, ranks] : byInstance)
        for (const LinkLoad &l : s.loads)
          loads.push_back({instance, l.axis, l.at, l.ns});
      s.loads = std::move(loads);
    }
    return plan;
  };
  if (x == 1)
    return inside(kind);
  const bool rings = kind == Kind::AllGather || kind == Kind::ReduceScatter || kind == Kind::AllReduce;
  Plan flat = rings ? Plan{flatRing(t, kind, group, x, bytes)} : Plan{};
  if (rings && !symmetric)
    return flat;
  Plan two; // inside the instances and between them; the order saves traffic between them
  switch (kind) {
  case Kind::AllGather: two = network(t, kind, x, bytes / y) + inside(kind); break;
  case Kind::ReduceScatter: two = inside(kind) + network(t, kind, x, bytes / y); break;
  case Kind::AllReduce:
    two = y == 1 ? network(t, kind, x, bytes)
                 : inside(Kind::ReduceScatter) + network(t, kind, x, bytes / y) + inside(Kind::AllGather);
    break;
  case Kind::AllToAll: two = inside(kind) + network(t, kind, x, bytes); break;
  case Kind::Broadcast: two = network(t, kind, x, bytes) + inside(kind); break;
  case Kind::Permute: break;
  }
  return rings && t.number("collective.flat_ring") != 0 ? fastest({two, flat}) : two;
}

} // namespace glia::collective
