// The kernels of a graph, each compiled once: of groups, and of regions that take less time than their groups one after the other.
#pragma once
#include "Form/Region.h"
#include "GraphDump.h"
#include "KeptObjects.h"
#include "glia/Program/Program.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Region/RegionLengths.h"

#include <map>
#include <memory>

namespace glia::emit {

class Objects {
public:
  Objects(const GraphOptions &options, GraphDump &dump) : options(options), dump(dump), kept(options) {}

  std::shared_ptr<const Program> of(const Group &g);
  // Null: its groups are better off alone.
  std::shared_ptr<const Program> of(const Region &r);
  // How many groups each region takes, in order.
  std::vector<size_t> regionLengths(std::span<const Group> groups);

  // Parts of a region that is none may be some: its groups are long.
  bool isLong(std::span<const Group> groups) const { return besides && groups.size() > 2; }

  const std::vector<RegionChoice> &choices() const { return chosen; }

private:
  const GraphOptions &options;
  GraphDump &dump;
  KeptObjects kept;                                                      // of earlier compiles
  std::map<std::string, std::shared_ptr<const Program>> groups, regions; // by structure
  std::map<const Program *, double> times;                               // of groups, ns
  std::vector<RegionChoice> chosen;
  bool besides = false; // long groups may be parts of regions

  KeptObjects::Choice compileIfBetter(const Region &r, const std::string &name);
  double timeOf(const std::shared_ptr<const Program> &object);
  Stage stageOf(const Group &g, std::map<const Program *, size_t> &kinds);
};

} // namespace glia::emit
