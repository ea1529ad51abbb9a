// Topologies as JSON and as the page docs/devices.md.
#include "DocsText.h"
#include "ValueJson.h"
#include "glia/Runtime/Docs.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/CollectiveCost.h"

#include <numeric>

namespace glia {

using Json = nlohmann::ordered_json;

namespace {

Json toJson(const Topology &t) {
  Json axes = Json::array();
  for (const TopologyAxis &a : t.axes)
    axes.push_back({{"name", a.name}, {"size", a.size}, {"switched", a.switched}, {"bytes_per_ns", a.bytesPerNs}});
  return {{"name", t.name},
          {"summary", t.summary},
          {"target", t.target},
          {"instances", t.instances},
          {"hosts", t.hosts * t.instances},
          {"chips", t.chips() * t.instances},
          {"lnc", t.lnc},
          {"ranks", t.ranks()},
          {"axes", axes},
          {"values", docs::valuesJson(t.values)}};
}

constexpr const char *kWords = R"(# From one core to a cluster

Made by `glia topologies --markdown` from topologies/*.toml; do not edit.

A target file ([targets.md](targets.md)) says what one kind of core has and costs. A topology file says how many of them there are and what lies
between them. `glia topologies` lists the built-in ones, `glia topologies NAME` shows one with a picture and the origin of every value, and the path
of a file of your own works wherever a name does.

| word | what it is |
|---|---|
| core | a NeuronCore: five engines, SBUF, PSUM, DMA queues |
| rank | what takes part in a collective: a logical core. With LNC 1 it is one core, with LNC 2 the two cores on one HBM stack |
| chip | 2 cores (Trainium) or 8 (Trainium2, Trainium3) and their HBM |
| host | a server: chips, a processor, network cards (EFA) |
| instance | what one rents: one host, or the hosts of an UltraServer, whose chips are linked |
| cluster | instances joined by EFA |

Ranks are numbered through the cores of a chip, then the chips of a host, then the hosts of an instance, then the instances: on trn2.48xlarge with LNC 2
ranks 0 to 3 are chip 0, and with `--instances 2` rank 64 is the first of the second instance. `nki.simulate(kernel, ranks=n)` and
`glia.compile(..., ranks=n)` run kernels on n ranks ([nki-api.md](nki-api.md)).

)";

constexpr const char *kTime = R"(
## The time of a collective

`collectiveTime` (include/glia/Target/CollectiveCost.h) adds what it takes to trigger a collective and to see its end (`collective.start`), a latency for
each step, and the bytes at the rate of the narrowest thing they cross: the engines of a rank, its HBM, the links of its chip, its share of the
network. It computes every algorithm that can run and takes the fastest:

| algorithm | steps of an all_gather of N ranks on C chips | where |
|---|---|---|
| mesh | 1, and 1 among the ranks of a chip | everywhere; routed traffic shares links |
| single-step mesh | 1 | all_reduce: everybody sends everything |
| rdh | log2 C, and 1 among the ranks of a chip | C a power of two |
| kangaring | N / 2 | all ranks of each chip take part |
| ring | N - 1 | everywhere |
| flat ring | N - 1, through all instances | trn1, and groups that are not alike on every instance |

reduce_scatter mirrors all_gather, and all_reduce is the one after the other. Between instances the same collective runs among the ranks with the same
place in their instance, before all_gather and after reduce_scatter inside. all_to_all is a mesh; permute takes as long as its longest pair. Groups and
pairs that exchange at the same time share the links of their chips: a link takes as long as the bytes of all of them, hop by hop. Each group takes the algorithm that is fastest when it
is alone. The algorithms and their steps are published; for broadcast nothing is: it is a ring or a tree. [timing.md](timing.md) has the published figures beside the
predicted ones.

What this gives for all_reduce of all 64 ranks of trn2.48xlarge (LNC 2):

| bytes | algorithm | steps | latency | bandwidth | total |
|---|---|---|---|---|---|
)";

constexpr const char *kOwn = R"(
`glia topologies trn2.48xlarge --collective all_reduce --bytes 1048576 --instances 2` says it for any other.

## A file of your own

Start from `glia topologies trn2.48xlarge --toml`. Every value has a `value`, an `origin` (documented, derived, assumed), a `source` and perhaps a `unit`, as
in target files.

| section | what |
|---|---|
| `chip` | cores, HBM stacks, bytes and bytes per ns of HBM, logical core sizes |
| `host` | chips of a host, hosts of an instance |
| `[[axis]]` | a direction in the network of the chips, fastest first: `size`, `bytes_per_ns` (what a chip sends along it, all its links, one direction), `latency` (of a further hop), `switched` (a switch; else a ring of neighbours). The product of the sizes is the number of chips |
| `efa` | bytes per ns of a host, latency, and what share of it each algorithm reaches. Without it instances cannot be joined |
| `collective` | `start` and `step` in ns, bytes per ns and core of each algorithm, `pair_bytes_per_ns` between two ranks, `flat_ring` |

A file that is not so is refused with TOPOLOGY-FILE at its line; options that a topology cannot have with TOPOLOGY-OPTION.
)";

std::string network(const Topology &t) {
  std::string out;
  for (const TopologyAxis &a : t.axes)
    out += (out.empty() ? "" : ", ") + format("%s %d %s", a.name.c_str(), a.size,
                                              a.switched   ? "switched"
                                              : a.size > 2 ? "ring"
                                                           : "pair");
  return out.empty() ? "-" : out;
}

std::string ranksByLnc(const std::string &name, const Topology &t) {
  std::string out;
  for (int lnc = 1; lnc <= t.maxLnc; ++lnc)
    if (t.coresPerChip % lnc == 0)
      out += (out.empty() ? "" : ", ") + format("%d (LNC %d)", loadTopology(name, {lnc, 1})->ranks(), lnc);
  return out;
}

std::string table() {
  std::string out = "| topology | target | hosts | chips | cores | ranks | HBM of a chip | network of the chips | out of a "
                    "chip | EFA of a "
                    "host |\n|---|---|---|---|---|---|---|---|---|---|\n";
  for (const std::string &name : builtinTopologies()) {
    const auto t = loadTopology(name);
    double links = 0;
    for (const TopologyAxis &a : t->axes)
      links += a.bytesPerNs;
    out += format("| %s | %s | %d | %d | %d | %s | %.0f GiB in %d stacks, %g GB/s | %s | %s | %s |\n", name.c_str(),
                  t->target.c_str(), t->hosts, t->chips(), t->chips() * t->coresPerChip, ranksByLnc(name, *t).c_str(),
                  t->number("chip.hbm_bytes") / (1 << 30), t->hbmStacks, t->hbmBytesPerNs, network(*t).c_str(),
                  links > 0 ? format("%g GB/s", links).c_str() : "-",
                  t->hasEfa ? format("%g Gb/s", t->efaBytesPerNs * 8).c_str() : "-");
  }
  return out;
}

// One row for every kind of neighbour that rank 0 has: the first rank of that kind, and the farthest.
std::string paths(const std::string &name) {
  const bool joined = loadTopology(name)->hasEfa;
  const auto t = loadTopology(name, {0, joined ? 2 : 1});
  std::map<Reach, std::pair<int, int>> found; // nearest and farthest
  for (int r = 1; r < t->ranks(); ++r) {
    const RankPath p = t->path(0, r);
    auto [it, isNew] = found.emplace(p.reach, std::pair{r, r});
    if (t->path(0, it->second.second).latency < p.latency)
      it->second.second = r;
  }
  std::string out;
  for (const auto &[reach, ranks] : found) {
    const RankPath near = t->path(0, ranks.first), far = t->path(0, ranks.second);
    out +=
        format("| %s | %s | %d | %.0f ns | %d | %.0f ns | %g GB/s |\n", name.c_str(), std::string(reachName(reach)).c_str(),
               ranks.first, near.latency, ranks.second, far.latency, near.bytesPerNs);
  }
  return out;
}

std::string example() {
  const auto t = loadTopology("trn2.48xlarge");
  std::vector<int> all(static_cast<size_t>(t->ranks()));
  std::iota(all.begin(), all.end(), 0);
  std::string out;
  for (int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 8) {
    const CollectiveTime time = collectiveTime(*t, CollectiveKind::AllReduce, bytes, all);
    out += format("| %lld | %s | %d | %.1f us | %.1f us | %.1f us |\n", (long long)bytes, algorithmsOf(time).c_str(),
                  time.steps, time.latency / 1e3, time.bandwidth / 1e3, time.total / 1e3);
  }
  return out;
}

} // namespace

std::string topologyJson(const Topology &t) { return toJson(t).dump(1) + "\n"; }

std::string topologiesJson() {
  Json all = Json::array();
  for (const std::string &name : builtinTopologies())
    all.push_back(toJson(*loadTopology(name)));
  return Json{{"topologies", all}}.dump(1) + "\n";
}

std::string topologiesMarkdown() {
  std::string out = kWords;
  out += "## The built-in topologies\n\nBandwidths are those of one direction.\n\n" + table();
  out += "\n## What lies between two ranks\n\nFrom rank 0 (of two instances, where they can be joined), with the default "
         "LNC: the time of a step, and "
         "the bandwidth that a pair has alone.\n\n| topology | where | nearest | its step | farthest | its step | "
         "bandwidth |\n|---|---|---|---|---|---|---|\n";
  for (const std::string &name : builtinTopologies())
    out += paths(name);
  out += "\n## Pictures\n\nChips are numbered; a line that leaves the picture comes back on the other side.\n";
  for (const std::string &name : builtinTopologies())
    out += "\n```text\n" + topologyPicture(*loadTopology(name)) + "```\n";
  return out + kTime + example() + kOwn;
}

} // namespace glia
