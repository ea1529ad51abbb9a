// How long a collective takes on a topology: the published algorithms, each as steps that cost latency and bytes that cost bandwidth;
// the fastest one is taken. The parameters are in the topology file. docs/timing.md compares with published figures.
#pragma once
#include "glia/Target/CollectiveKind.h"
#include "glia/Target/Topology.h"

#include <span>

namespace glia {

enum class CollectiveAlgorithm : uint8_t {
  Mesh,       // everybody to everybody, routed
  SingleMesh, // all_reduce: everybody sends everything, and reduces
  Rdh,        // recursive doubling and halving
  KangaRing,  // a ring of every other rank, which serves its neighbour
  Ring,
  FlatRing, // one ring through all instances
  Pairs,    // each rank to its partner
  Tree      // broadcast, doubling the ranks that have it
};
std::string_view algorithmName(CollectiveAlgorithm a); // "mesh" ...

// What the links of a chip carry, or the network interfaces of a host: how long it takes them.
struct LinkLoad {
  static constexpr int kEfa = -1;
  int instance = 0, axis = 0, at = 0; // of an axis: a chip of the instance; kEfa: a host
  double ns = 0;
};

// A part of a collective that one algorithm does.
struct CollectiveStage {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  bool network = false;           // between instances
  int steps = 0;                  // that follow each other
  double latency = 0;             // ns of the steps
  double bandwidth = 0;           // ns of the bytes
  std::string bound;              // what limits the bytes: "rank", "hbm", the name of an axis, "efa"
  std::vector<std::string> links; // what the bytes cross: "chip", names of axes, "efa"
  double rank = 0, hbm = 0;       // ns of the bytes for the engines of a rank, and for its HBM
  std::vector<LinkLoad> loads;    // without what a rank has a share of its own of
};

struct CollectiveTime {
  double total = 0;     // ns: start, latency and bandwidth
  double start = 0;     // to trigger it and to see its end
  double latency = 0;   // of all steps
  double bandwidth = 0; // of all bytes
  int steps = 0;
  std::vector<CollectiveStage> stages; // one after the other; none for a group of one rank
};

// "mesh", or "kangaring + rdh + kangaring": one name for stages in a row that are alike.
std::string algorithmsOf(const CollectiveTime &t);

// `bytes`: the larger of what a rank gives and what it gets: the result of all_gather, the operand of reduce_scatter, either of the
// others. `group`: the ranks that take part, in the order of the collective; permute goes from each to the next, broadcast from the
// first. Throws Error TOPOLOGY-RANK for a rank that does not exist or is named twice, TOPOLOGY-OPTION for less than 0 bytes.
CollectiveTime collectiveTime(const Topology &t, CollectiveKind kind, int64_t bytes, std::span<const int> group);

// Of the group that takes longest, where all of them exchange at the same time, stage by stage: they share the links of their chips and hosts. A permute has pairs,
// from one rank to another.
CollectiveTime collectiveTime(const Topology &t, CollectiveKind kind, int64_t bytes,
                              std::span<const std::vector<int>> groups);

// What a collective asks of each thing that it shares with others at the same time: the engines of a rank, its HBM, EFA, the axes in their order; 1 is all of it.
std::vector<double> asksOf(const Topology &t, const CollectiveTime &time);
std::vector<std::string> askNames(const Topology &t); // of these things: "engines of a rank", "links along x" ...

} // namespace glia
