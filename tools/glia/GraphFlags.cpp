#include "GraphFlags.h"
#include "glia/Reduce/Outcome.h"
#include "glia/Support/Diagnostic.h"
#ifdef GLIA_COMPILER
#include "glia/Region/CompileGraph.h"
#endif

namespace glia::tool {

void addGraphFlags(Command c, GraphFlags &f, bool always) {
  const std::string of = always ? "" : "Of a graph. ";
  const std::string several = always ? "Of several ranks: " : "Of a graph for several ranks: ";
  const auto note = [&](Option o) { o.whenGiven([&f, name = o.name()] { f.given = name; }); };
  note(c.option("--lnc", f.cores, of + "2: each group on both cores of a logical one; 1 if not given"));
  note(c.option("--effort", f.effort,
                of + "0: every group is a kernel of its own; 1, if not given: groups become one kernel where that is "
                     "faster; 2: more ways to write it are tried")
           .between(0, 2));
  note(c.option("--topology", f.topology,
                several + "what they lie on, for their time (glia topologies); else what is usual for the target"));
  note(c.flag("--strict-sharding", f.strictSharding,
              several + "refuse operations that need their operands whole, instead of a warning"));
  note(c.option("--auto-cast", f.autoCast,
                of + "bf16 or f16: operands of f32 products are rounded to it, sums stay f32; else nothing is rounded"));
}

std::string textOf(const GraphFlags &f) {
  return (f.cores == 1 ? "" : format(" --lnc %d", f.cores)) + (f.effort == 1 ? "" : format(" --effort %d", f.effort)) +
         (f.topology.empty() ? "" : " --topology " + reduce::shellWord(f.topology)) +
         (f.strictSharding ? " --strict-sharding" : "") +
         (f.autoCast.empty() ? "" : " --auto-cast " + reduce::shellWord(f.autoCast));
}

void refuseGraphFlags(const GraphFlags &f, const std::string &file, const std::string &what) {
  if (!f.given.empty())
    throw Error("COMPILE-OPTION", file + " is " + what + ", and " + f.given + " is said of a graph",
                "Leave it out; --help says which options are whose.");
}

#ifdef GLIA_COMPILER
void setGraphOptions(const GraphFlags &f, GraphOptions &o) {
  o.cores = f.cores;
  o.effort = f.effort;
  o.topology = f.topology;
  o.strictSharding = f.strictSharding;
}
#endif

} // namespace glia::tool
