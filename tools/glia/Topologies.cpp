#include "Tool.h"
#include "glia/Runtime/Docs.h"
#include "glia/ISA/Collective.h"
#include "glia/Target/CollectiveCost.h"
#include "glia/Target/OriginName.h"

#include <numeric>

namespace glia::tool {

static std::string table(const Topology &t) {
  std::string out = t.name + ": " + t.summary + "\n";
  out += format("  carries %s; %d rank%s\n\n", t.target.c_str(), t.ranks(), t.ranks() > 1 ? "s" : "") + topologyPicture(t) +
         "\n";
  for (const auto &[key, v] : t.values)
    out += format("  %-32s %14.10g %-6s %-10s %s\n", key.c_str(), v.number, v.unit.c_str(), originName(v.origin),
                  v.source.c_str());
  return out;
}

static std::string timeOf(const Topology &t, const std::string &kind, int64_t bytes, int ranks) {
  std::vector<int> group(static_cast<size_t>(ranks > 0 ? ranks : t.ranks()));
  std::iota(group.begin(), group.end(), 0);
  const CollectiveTime time = collectiveTime(t, static_cast<CollectiveKind>(collectiveKindNames().find(kind)), bytes, group);
  std::string out = format("%s of %s bytes on %zu ranks of %s: %.2f us (start %.2f, %d steps %.2f, bytes %.2f)\n",
                           kind.c_str(), grouped(static_cast<uint64_t>(bytes)).c_str(), group.size(), t.name.c_str(),
                           time.total / 1e3, time.start / 1e3, time.steps, time.latency / 1e3, time.bandwidth / 1e3);
  for (const CollectiveStage &s : time.stages) {
    std::string links;
    for (const std::string &l : s.links)
      links += (links.empty() ? "" : ", ") + l;
    out += format("  %-14s %-16s %4d step%s %10.2f us, bytes %10.2f us bound by %s; over %s\n",
                  std::string(collectiveKindNames().names[static_cast<size_t>(s.kind)]).c_str(),
                  std::string(algorithmName(s.algorithm)).c_str(), s.steps, s.steps == 1 ? ": " : "s:", s.latency / 1e3,
                  s.bandwidth / 1e3, s.bound.c_str(), links.c_str());
  }
  return out;
}

void addTopologies(Command app, Tool &tool) {
  struct Options {
    std::string name, collective;
    TopologyOptions topology;
    int64_t bytes = 1 << 20;
    int ranks = 0;
    bool json = false, toml = false, markdown = false;
  };
  auto o = std::make_shared<Options>();
  Command c = app.command("topologies", "Lists topologies of chips and hosts, shows one, or times a collective on it");
  Option name = c.option("name", o->name, "A built-in topology or a topology file");
  Option json = c.flag("--json", o->json, "As JSON");
  Option toml = c.flag("--toml", o->toml, "The topology file itself, to start one's own from").excludes(json).needs(name);
  c.flag("--markdown", o->markdown, "docs/devices.md").excludes(json).excludes(toml).excludes(name);
  c.option("--lnc", o->topology.lnc, "Cores of a rank").needs(name).positive();
  c.option("--instances", o->topology.instances, "How many, joined by EFA").needs(name).positive();
  Option kind = c.option("--collective", o->collective, "How long this one takes, and by which algorithm")
                    .needs(name)
                    .excludes(json)
                    .excludes(toml);
  std::vector<std::string> kinds;
  for (const std::string_view k : collectiveKindNames().names)
    kinds.emplace_back(k);
  kind.oneOf(kinds);
  c.option("--bytes", o->bytes, "The larger of what a rank gives and gets (default: 1 MiB)").needs(kind).notNegative();
  c.option("--ranks", o->ranks, "The first so many ranks (default: all)").needs(kind).positive();
  c.footer("Example: glia topologies trn2.48xlarge\n"
           "         glia topologies trn2.48xlarge --collective all_reduce --bytes 1048576 --instances 2");
  c.callback([o, &tool] {
    tool.command = [o] {
      if (o->markdown) {
        write(topologiesMarkdown());
      } else if (!o->name.empty()) {
        const auto t = loadTopology(o->name, o->topology);
        write(!o->collective.empty() ? timeOf(*t, o->collective, o->bytes, o->ranks)
              : o->toml              ? t->text
              : o->json              ? topologyJson(*t)
                                     : table(*t));
      } else if (o->json) {
        write(topologiesJson());
      } else {
        for (const std::string &n : builtinTopologies())
          write(format("%-22s %s\n", n.c_str(), loadTopology(n)->summary.c_str()));
      }
      return 0;
    };
  });
}

} // namespace glia::tool
