#include "glia/Target/Topology.h"
#include "ValueFile.h"
#include "glia/Support/BuiltinFiles.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

namespace {

constexpr ValueFileKind kKind = {"topology", "topologies", "TOPOLOGY-FILE", "TOPOLOGY-UNKNOWN",
                                 "See `docs/devices.md`, or start from `glia topologies trn2.48xlarge --toml`."};

constexpr int kMaxInstances = 4096, kMaxHosts = 1024, kMaxChips = 1024, kMaxCores = 64; // of one instance, host, chip
constexpr int kMaxLinked = 4096, kMaxRanks = 1 << 20;                                   // chips of an instance, all ranks

// Reads numbers that must be there, with the bounds that keep the arithmetic sound.
struct Reader {
  const ValueFile &file;
  const Topology &t;
  double get(const std::string &key) const {
    const auto it = t.values.find(key);
    if (it == t.values.end())
      file.bad("there is no value for `" + key + "`", 0);
    return it->second.number;
  }
  int whole(const std::string &key, int lo, int hi) const { return static_cast<int>(file.whole(key, get(key), lo, hi)); }
  double positive(const std::string &key, double most = 1e12) const {
    const double v = get(key);
    if (!(v > 0 && v <= most))
      file.bad(format("`%s` is %g and must be above 0 and at most %g", key.c_str(), v, most), 0);
    return v;
  }
};

void readAxis(Topology &t, const toml::node &node, const ValueFile &file) {
  const uint32_t line = node.source().begin.line;
  const toml::table *entry = node.as_table();
  const std::string name = entry ? (*entry)["name"].value_or(std::string()) : std::string();
  if (name.empty())
    file.bad("an axis is written [[axis]] and has a name", line);
  if (t.axes.size() == Topology::kMaxAxes)
    file.bad(format("there are more than %d axes", Topology::kMaxAxes), line);
  for (const TopologyAxis &a : t.axes)
    if (a.name == name)
      file.bad("there are two axes `" + name + "`", line);
  for (auto &&[key, value] : *entry)
    if (key.str() != "name") {
      const std::string full = "axis." + name + "." + std::string(key.str());
      t.values.emplace(full, file.value(full, value));
    }
  const Reader r{file, t};
  TopologyAxis a;
  a.name = name;
  const std::string prefix = "axis." + name + ".";
  a.size = r.whole(prefix + "size", 1, kMaxChips);
  a.switched = r.whole(prefix + "switched", 0, 1) != 0;
  a.bytesPerNs = r.positive(prefix + "bytes_per_ns");
  a.latency = r.get(prefix + "latency");
  if (!(a.latency >= 0))
    file.bad("`" + prefix + "latency` is below 0", line);
  t.axes.push_back(std::move(a));
}

void copyGeometry(Topology &t, const ValueFile &file) {
  const Reader r{file, t};
  t.coresPerChip = r.whole("chip.cores", 1, kMaxCores);
  t.hbmStacks = r.whole("chip.hbm_stacks", 1, kMaxCores);
  t.hbmBytesPerNs = r.positive("chip.hbm_bytes_per_ns");
  t.maxLnc = r.whole("chip.max_lnc", 1, t.coresPerChip);
  t.lnc = r.whole("chip.default_lnc", 1, t.maxLnc);
  t.chipsPerHost = r.whole("host.chips", 1, kMaxChips);
  t.hosts = r.whole("host.count", 1, kMaxHosts);
  int64_t product = 1;
  for (TopologyAxis &a : t.axes) {
    a.stride = static_cast<int>(product);
    product *= a.size;
    if (product > kMaxLinked)
      file.bad(format("the axes hold more than %d chips", kMaxLinked), 0);
  }
  if (product != t.chips())
    file.bad(format("the axes hold %lld chips, and %d hosts of %d have %d", (long long)product, t.hosts, t.chipsPerHost,
                    t.chips()),
             0);
  if (t.coresPerChip % t.lnc != 0)
    file.bad(format("`chip.default_lnc` is %d, which does not divide the %d cores of a chip", t.lnc, t.coresPerChip), 0);
  t.hasEfa = t.values.count("efa.bytes_per_ns") != 0;
  if (t.hasEfa) {
    t.efaBytesPerNs = r.positive("efa.bytes_per_ns");
    t.efaLatency = r.positive("efa.latency");
    for (const char *share : {"efa.mesh_share", "efa.rdh_share", "efa.ring_share"})
      r.positive(share, 1);
  }
  for (const char *key : {"collective.start", "collective.step", "collective.mesh_bytes_per_ns",
                          "collective.rdh_bytes_per_ns", "collective.ring_bytes_per_ns", "collective.pair_bytes_per_ns"})
    r.positive(key);
  r.whole("collective.flat_ring", 0, 1);
}

[[noreturn]] void badOption(const std::string &what, const std::string &advice) {
  throw Error("TOPOLOGY-OPTION", what, advice);
}

void apply(Topology &t, const TopologyOptions &o) {
  if (o.lnc != 0) {
    if (o.lnc < 1 || o.lnc > t.maxLnc || t.coresPerChip % o.lnc != 0)
      badOption(format("a rank of %s cannot have %d cores", t.name.c_str(), o.lnc),
                format("It has 1%s.", t.maxLnc > 1 ? format(" to %d", t.maxLnc).c_str() : ""));
    t.lnc = o.lnc;
  }
  if (o.instances < 1 || o.instances > kMaxInstances)
    badOption(format("there cannot be %d instances", o.instances), format("There are from 1 to %d.", kMaxInstances));
  if (o.instances > 1 && !t.hasEfa)
    badOption(format("%d instances of %s cannot be joined: it has no EFA", o.instances, t.name.c_str()),
              "Take an instance that has one, such as trn1.32xlarge or trn2.48xlarge.");
  if (int64_t{o.instances} * t.ranksPerInstance() > kMaxRanks)
    badOption(format("%d instances have more than %d ranks", o.instances, kMaxRanks), "Take fewer.");
  t.instances = o.instances;
}

} // namespace

std::string_view reachName(Reach r) {
  static constexpr std::string_view kNames[] = {"same rank", "same chip", "same host", "linked host", "other instance"};
  return kNames[static_cast<int>(r)];
}

double Topology::number(std::string_view key) const {
  const auto it = values.find(key);
  if (it == values.end())
    throw Error("TOPOLOGY-KEY", "topology `" + name + "` has no value for `" + std::string(key) + "`",
                "Add it to the topology file; `glia topologies trn2.48xlarge` shows one that has it.");
  return it->second.number;
}

RankPlace Topology::place(int rank) const {
  if (rank < 0 || rank >= ranks())
    throw Error("TOPOLOGY-RANK", format("there is no rank %d", rank),
                format("%d of %s have %d ranks, from 0.", instances, name.c_str(), ranks()));
  const int chip = rank / ranksPerChip() % chips();
  return {rank / ranksPerInstance(), chip / chipsPerHost, chip, rank % ranksPerChip()};
}

int Topology::hops(int axis, int a, int b) const {
  const TopologyAxis &x = axes[axis];
  const int apart = std::abs(coordinate(axis, a) - coordinate(axis, b));
  return x.switched ? (apart != 0) : std::min(apart, x.size - apart);
}

double Topology::bytesPerNsBetweenNeighbours(int axis) const {
  const TopologyAxis &x = axes[axis];
  return x.switched || x.size <= 2 ? x.bytesPerNs : x.bytesPerNs / 2;
}

RankPath Topology::path(int a, int b) const {
  const RankPlace p = place(a), q = place(b);
  RankPath out;
  out.hops.assign(axes.size(), 0);
  out.bytesPerNs = hbmBytesPerNs / ranksPerChip();
  if (a == b)
    return out;
  out.bytesPerNs = std::min(out.bytesPerNs, number("collective.pair_bytes_per_ns") * lnc);
  if (p.instance != q.instance) {
    out.reach = Reach::Network;
    out.latency = efaLatency;
    out.bytesPerNs = std::min(out.bytesPerNs, efaBytesPerNsOfRank());
    return out;
  }
  out.reach = p.chip == q.chip ? Reach::Chip : p.host == q.host ? Reach::Host : Reach::Linked;
  out.latency = number("collective.step");
  int total = 0;
  for (int i = 0; i < static_cast<int>(axes.size()); ++i) {
    out.hops[i] = hops(i, p.chip, q.chip);
    out.latency += axes[i].latency * std::max(0, out.hops[i] - (total == 0));
    total += out.hops[i];
    if (out.hops[i])
      out.bytesPerNs = std::min(out.bytesPerNs, bytesPerNsBetweenNeighbours(i));
  }
  return out;
}

std::shared_ptr<const Topology> parseTopology(std::string_view text, std::string_view fileName,
                                              const TopologyOptions &options) {
  const ValueFile file(text, fileName, kKind);
  auto t = std::make_shared<Topology>();
  t->text = text;
  t->name = file.name;
  t->summary = file.summary;
  t->target = file.root["target"].value_or(std::string());
  if (t->target.empty())
    file.bad("the topology does not say whose cores it carries: target = \"trn2\"", 1);
  for (auto &&[key, node] : file.root) {
    if (key.str() == "name" || key.str() == "summary" || key.str() == "target")
      continue;
    if (key.str() == "axis") {
      const toml::array *list = node.as_array();
      if (!list)
        file.bad("axes are written [[axis]]", node.source().begin.line);
      for (const toml::node &a : *list)
        readAxis(*t, a, file);
    } else if (node.is_table()) {
      file.readSection(t->values, key.str(), *node.as_table());
    } else {
      file.bad("unexpected key `" + std::string(key.str()) + "`", node.source().begin.line);
    }
  }
  copyGeometry(*t, file);
  apply(*t, options);
  return t;
}

std::vector<std::string> builtinTopologies() {
  std::vector<std::string> names;
  for (const BuiltinFile &f : builtinTopologyFiles())
    names.emplace_back(f.name);
  return names;
}

std::shared_ptr<const Topology> loadTopology(std::string_view nameOrPath, const TopologyOptions &options) {
  for (const BuiltinFile &f : builtinTopologyFiles())
    if (f.name == nameOrPath)
      return parseTopology(f.text, std::string(nameOrPath) + ".toml", options);
  return parseTopology(readValueFile(nameOrPath, kKind, builtinTopologies()), nameOrPath, options);
}

} // namespace glia
