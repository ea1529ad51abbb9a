#include "glia/Sim/RankTopology.h"
#include "glia/Program/RankContract.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <mutex>
#include <tuple>

namespace glia {

namespace {

// The usual instance with these cores; a target of somebody's own counts as trn2.
std::string usualFor(const std::string &target) {
  return target == "trn1" ? "trn1.32xlarge" : target == "trn3" ? "trn3-ultraserver-gen2" : "trn2.48xlarge";
}

std::shared_ptr<const Topology> load(const std::string &said, const TopologyOptions &options) {
  return said.find('\n') == std::string::npos ? loadTopology(said, options) : parseTopology(said, "<topology>", options);
}

} // namespace

std::shared_ptr<const Topology> topologyOf(const Program &p) {
  std::string said = usualFor(p.target->name);
  for (const ContractItem &c : p.contract)
    if (c.key == kTopologyKey)
      said = c.value;
  using Key = std::tuple<std::string, uint32_t, int>;
  static std::mutex mutex;
  static std::pair<Key, std::shared_ptr<const Topology>> last; // a program asks for each of its collectives
  const Key key{said, p.cores, ranksOf(p)};
  const std::lock_guard lock(mutex);
  if (last.second && last.first == key)
    return last.second;
  TopologyOptions options;
  options.lnc = static_cast<int>(p.cores);
  auto one = load(said, options);
  const int ranks = ranksOf(p);
  if (ranks > one->ranks()) {
    if (!one->hasEfa)
      throw Error("TOPOLOGY-OPTION",
                  format("a program of %d ranks on %s, which has %d", ranks, one->name.c_str(), one->ranks()),
                  "Use a larger topology (`glia topologies`), or fewer ranks.");
    options.instances = (ranks + one->ranks() - 1) / one->ranks();
    one = load(said, options);
  }
  last = {key, one};
  return one;
}

CollectiveTime exchangeTime(const Program &p, const Decoded &d, int64_t bytes) {
  const Collective c = collectiveOf(p, d);
  std::vector<std::vector<int>> groups;
  for (size_t i = 0; i < c.groups.size(); ++i) {
    if (i % static_cast<size_t>(c.width) == 0)
      groups.emplace_back();
    if (c.groups[i] >= 0)
      groups.back().push_back(c.groups[i]);
  }
  return collectiveTime(*topologyOf(p), c.kind, bytes, groups);
}

} // namespace glia
