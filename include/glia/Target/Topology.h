// A topology is data, as a target is: chips, cores, hosts and the links between them, each value with its origin.
// A rank is a logical core. Ranks count through the cores of a chip, the chips of a host, the hosts of an instance, the instances.
#pragma once
#include "glia/Target/Target.h"

#include <array>

namespace glia {

// A direction in the network of an instance's chips.
struct TopologyAxis {
  std::string name; // "x"
  int size = 1;
  int stride = 1;        // what one step adds to a chip's number
  bool switched = false; // every chip reaches every other through a switch; else neighbours in a ring
  double bytesPerNs = 0; // what a chip sends along it, all its links together, one direction
  double latency = 0;    // ns that a further hop adds
};

enum class Reach : uint8_t {
  Self,   // the same rank
  Chip,   // another core of the chip
  Host,   // another chip of the host
  Linked, // a chip of another host, by the links of the chips
  Network // by EFA
};
std::string_view reachName(Reach r); // "same chip" ...

struct RankPlace {
  int instance = 0, host = 0, chip = 0, core = 0; // host and chip within the instance; core: a logical one of the chip
};

// What lies between two ranks.
struct RankPath {
  Reach reach = Reach::Self;
  std::vector<int> hops; // per axis
  double latency = 0;    // ns of one step
  double bytesPerNs = 0; // of this pair alone
};

struct TopologyOptions {
  int lnc = 0;       // physical cores per rank; 0: the topology's default
  int instances = 1; // joined by EFA
};

class Topology {
public:
  static constexpr int kMaxAxes = 8;

  std::string name, summary;
  std::string target;                                     // whose cores it carries
  std::string text;                                       // the TOML it was read from
  std::map<std::string, TargetValue, std::less<>> values; // "chip.cores", "axis.x.size" ...
  std::vector<TopologyAxis> axes;

  double number(std::string_view key) const; // throws Error TOPOLOGY-KEY

  int lnc = 1, instances = 1;
  int coresPerChip = 1, maxLnc = 1, hbmStacks = 1;
  int chipsPerHost = 1, hosts = 1; // hosts: of one instance
  double hbmBytesPerNs = 0;        // of a chip
  bool hasEfa = false;
  double efaBytesPerNs = 0, efaLatency = 0; // of a host, one direction

  int chips() const { return chipsPerHost * hosts; } // of one instance
  int ranksPerChip() const { return coresPerChip / lnc; }
  int ranksPerInstance() const { return chips() * ranksPerChip(); }
  int ranks() const { return ranksPerInstance() * instances; }
  double efaBytesPerNsOfRank() const { return efaBytesPerNs / (chipsPerHost * ranksPerChip()); }

  RankPlace place(int rank) const;        // throws Error TOPOLOGY-RANK
  int hops(int axis, int a, int b) const; // between two chips of an instance
  int coordinate(int axis, int chip) const { return chip / axes[axis].stride % axes[axis].size; }
  double bytesPerNsBetweenNeighbours(int axis) const; // of one link
  RankPath path(int a, int b) const;
};

// `nameOrPath`: a built-in name ("trn2.48xlarge") or a path to a TOML file. Throws Error TOPOLOGY-UNKNOWN, TOPOLOGY-FILE, or
// TOPOLOGY-OPTION for options that it cannot have.
std::shared_ptr<const Topology> loadTopology(std::string_view nameOrPath, const TopologyOptions &options = {});
std::shared_ptr<const Topology> parseTopology(std::string_view tomlText, std::string_view fileName,
                                              const TopologyOptions &options = {});
std::vector<std::string> builtinTopologies();

} // namespace glia
