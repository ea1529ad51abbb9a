// Kernels of graphs that were compiled before, by this or another process. What is kept is the same for all places in source files: these are
// put in when it is used, so that a program is the same bytes whether its kernels were kept or not.
#pragma once
#include "Form/Region.h"
#include "glia/Program/Program.h"
#include "glia/Region/CompileGraph.h"
#include "glia/Support/DiskCache.h"

#include <functional>
#include <optional>

namespace glia::emit {

class KeptObjects {
public:
  explicit KeptObjects(const GraphOptions &options);

  // The kernel of a group under that name, from disk or made now.
  Program group(const Group &g, const std::string &structure, const std::string &name, const std::function<Program()> &make);

  // What became of a region: the ways that were tried, and the program if one of them is better than its groups apart.
  struct Choice {
    RegionChoice choice;
    std::optional<Program> program;
  };
  Choice region(const Region &r, const std::string &structure, const std::string &name, bool besides,
                const std::function<Choice()> &make);

private:
  std::optional<DiskCache> disk; // nullopt: nothing is kept
  std::string common;            // of all keys: the build, the target, options
};

} // namespace glia::emit
