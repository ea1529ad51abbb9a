// Topologies: what the built-in ones are, where ranks lie and what is between them, and what is said of files that are wrong.
#include "glia/Runtime/Docs.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/Topology.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace glia;

namespace {

TEST(Topology, BuiltinOnesHaveThePublishedSizes) {
  struct {
    const char *name, *target;
    int hosts, chips, cores, ranks;
  } const kPublished[] = {
      {"trn1.2xlarge", "trn1", 1, 1, 2, 2},
      {"trn1.32xlarge", "trn1", 1, 16, 2, 32},
      {"trn1n.32xlarge", "trn1", 1, 16, 2, 32},
      {"trn2.3xlarge", "trn2", 1, 1, 8, 4},
      {"trn2.48xlarge", "trn2", 1, 16, 8, 64},
      {"trn2u.48xlarge", "trn2", 1, 16, 8, 64},
      {"trn2-ultraserver", "trn2", 4, 64, 8, 256},
      {"trn3-ultraserver-gen1", "trn3", 4, 64, 8, 256},
      {"trn3-ultraserver-gen2", "trn3", 36, 144, 8, 576},
  };
  EXPECT_EQ(builtinTopologies().size(), std::size(kPublished));
  for (const auto &p : kPublished) {
    const auto t = loadTopology(p.name);
    EXPECT_EQ(t->name, p.name);
    EXPECT_EQ(t->target, p.target);
    EXPECT_EQ(t->hosts, p.hosts) << p.name;
    EXPECT_EQ(t->chips(), p.chips) << p.name;
    EXPECT_EQ(t->coresPerChip, p.cores) << p.name;
    EXPECT_EQ(t->ranks(), p.ranks) << p.name;
    EXPECT_NO_THROW(loadTarget(t->target));
  }
}

TEST(Topology, LogicalCoresAndInstances) {
  EXPECT_EQ(loadTopology("trn2.48xlarge", {1, 1})->ranks(), 128);
  EXPECT_EQ(loadTopology("trn2.48xlarge", {2, 3})->ranks(), 192);
  // 3.2 Tb/s over 64 or 128 ranks: 50 and 25 Gb/s.
  EXPECT_DOUBLE_EQ(loadTopology("trn2.48xlarge", {2, 2})->efaBytesPerNsOfRank() * 8, 50);
  EXPECT_DOUBLE_EQ(loadTopology("trn2.48xlarge", {1, 2})->efaBytesPerNsOfRank() * 8, 25);
}

TEST(Topology, PlacesCountThroughCoresChipsHostsInstances) {
  const auto t = loadTopology("trn2-ultraserver", {2, 2});
  for (int r = 0; r < t->ranks(); ++r) {
    const RankPlace p = t->place(r);
    EXPECT_EQ(((p.instance * t->chips()) + p.chip) * t->ranksPerChip() + p.core, r);
    EXPECT_EQ(p.chip / 16, p.host);
  }
  const RankPlace p = t->place(256 + 64 + 5);
  EXPECT_EQ(p.instance, 1);
  EXPECT_EQ(p.host, 1);
  EXPECT_EQ(p.chip, 17);
  EXPECT_EQ(p.core, 1);
}

TEST(Topology, WhatLiesBetweenTwoRanks) {
  const auto t = loadTopology("trn2-ultraserver", {2, 2});
  EXPECT_EQ(t->path(7, 7).reach, Reach::Self);
  EXPECT_EQ(t->path(0, 3).reach, Reach::Chip);
  EXPECT_EQ(t->path(0, 4).reach, Reach::Host);
  EXPECT_EQ(t->path(0, 64).reach, Reach::Linked);
  EXPECT_EQ(t->path(0, 256).reach, Reach::Network);
  // Chip 10 of a 4x4 torus is two hops away in both directions, chip 15 one.
  EXPECT_EQ(t->path(0, 40).hops, (std::vector<int>{2, 2, 0}));
  EXPECT_EQ(t->path(0, 60).hops, (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(t->path(0, 3 * 64).hops, (std::vector<int>{0, 0, 1}));
  EXPECT_DOUBLE_EQ(t->path(0, 256).latency, 15000);
  EXPECT_DOUBLE_EQ(t->path(0, 256).bytesPerNs, 6.25);
  EXPECT_GT(t->path(0, 40).latency, t->path(0, 4).latency);
  const auto s = loadTopology("trn3-ultraserver-gen2");
  EXPECT_EQ(s->path(0, 4 * 3).hops, (std::vector<int>{1, 0, 0}));   // through the switch of the server
  EXPECT_EQ(s->path(0, 16 * 17).hops, (std::vector<int>{0, 1, 0})); // of the rack
  EXPECT_EQ(s->path(0, 4 * 143).hops, (std::vector<int>{1, 1, 1})); // the last chip of the other rack
}

TEST(Topology, PathsAreTheSameBothWays) {
  for (const std::string &name : builtinTopologies()) {
    const auto t = loadTopology(name);
    for (int a = 0; a < t->ranks(); a += 7)
      for (int b = 0; b < t->ranks(); b += 5) {
        const RankPath x = t->path(a, b), y = t->path(b, a);
        EXPECT_EQ(x.reach, y.reach);
        EXPECT_EQ(x.hops, y.hops);
        EXPECT_EQ(x.latency, y.latency);
        EXPECT_EQ(x.bytesPerNs, y.bytesPerNs);
      }
  }
}

// The error of a file that is trn2.48xlarge with one text in place of another.
Diagnostic errorWith(const std::string &from, const std::string &to, const TopologyOptions &o = {}) {
  std::string text = loadTopology("trn2.48xlarge")->text;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    parseTopology(text, "mine.toml", o);
  } catch (const Error &e) {
    return e.diagnostics()[0];
  }
  ADD_FAILURE() << "accepted: " << to;
  return {};
}

TEST(Topology, BadFilesAreRefused) {
  const struct {
    const char *from, *to, *says;
  } kBad[] = {
      {"name = \"trn2.48xlarge\"", "", "has no name"},
      {"target = \"trn2\"", "", "whose cores"},
      {"cores = { value = 8", "cores = { value = 8.5", "whole number"},
      {"cores = { value = 8", "cores = { value = 0", "whole number"},
      {"cores = { value = 8, origin = \"documented\"", "cores = { value = 8, origin = \"guessed\"",
       "must be documented, derived or assumed"},
      {"chips = { value = 16", "chips = { value = 15", "the axes hold 16 chips"},
      {"size = { value = 4", "size = { value = 0", "axis.x.size"},
      {"size = { value = 4", "size = { value = 1024", "the axes hold 4096 chips"},
      {"size = { value = 4, origin = \"documented\", source = \"Trn2 architecture page: 4x4, 2D torus\" }\nbytes",
       "size = { value = 1025, origin = \"documented\", source = \"?\" }\nbytes", "from 1 to 1024"},
      {"name = \"y\"", "name = \"x\"", "two axes `x`"},
      {"bytes_per_ns = { value = 256", "bytes_per_ns = { value = -1", "must be above 0"},
      {"step = {", "stride = {", "no value for `collective.step`"},
      {"latency = { value = 15000", "latency = { value = nan", "finite"},
      {"[[axis]]", "[axis]", ""},
      {"[host]", "[host", ""},
      {"[chip]", "chip = 3\n[chips]", "unexpected key"},
  };
  for (const auto &b : kBad) {
    const Diagnostic d = errorWith(b.from, b.to);
    EXPECT_EQ(d.code, "TOPOLOGY-FILE") << b.to;
    EXPECT_NE(d.message.find(b.says), std::string::npos) << d.message;
    EXPECT_EQ(d.place.file, "mine.toml");
    EXPECT_FALSE(d.advice.empty());
  }
  EXPECT_EQ(errorWith("[chip]", "[chip]", {3, 1}).code, "TOPOLOGY-OPTION");
  EXPECT_EQ(errorWith("[chip]", "[chip]", {0, 0}).code, "TOPOLOGY-OPTION");
  EXPECT_EQ(errorWith("chips = { value = 16", "chips = { value = 1024").code, "TOPOLOGY-FILE");
}

TEST(Topology, WhatCannotBeIsAnError) {
  auto code = [](auto &&f) {
    try {
      f();
    } catch (const Error &e) {
      return e.diagnostics()[0].code;
    }
    return std::string("none");
  };
  EXPECT_EQ(code([] { loadTopology("trn9.xlarge"); }), "TOPOLOGY-UNKNOWN");
  EXPECT_EQ(code([] { loadTopology("/nowhere/mine.toml"); }), "TOPOLOGY-UNKNOWN");
  EXPECT_EQ(code([] { loadTopology("trn1.2xlarge", {0, 2}); }), "TOPOLOGY-OPTION"); // no EFA
  EXPECT_EQ(code([] { loadTopology("trn1.32xlarge", {2, 1}); }), "TOPOLOGY-OPTION");
  EXPECT_EQ(code([] { loadTopology("trn1.32xlarge")->place(32); }), "TOPOLOGY-RANK");
  EXPECT_EQ(code([] { loadTopology("trn1.32xlarge")->path(0, -1); }), "TOPOLOGY-RANK");
  EXPECT_EQ(code([] { loadTopology("trn1.32xlarge")->number("chip.wings"); }), "TOPOLOGY-KEY");
}

TEST(GeneratedDocs, DevicesAreUpToDate) {
  std::ifstream file(std::string(GLIA_SOURCE_DIR) + "/docs/devices.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == topologiesMarkdown()) << "run: build/bin/glia topologies --markdown > docs/devices.md";
}

} // namespace
