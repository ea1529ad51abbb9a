// From a graph to one verified-to-be program: inline, simplify, group, write
// each distinct group as a kernel, compile it once, link.
#pragma once
#include "glia/Bound/Least.h"
#include "glia/Graph/Graph.h"
#include "glia/Graph/Partition.h"
#include "glia/Program/Program.h"

#include <functional>
#include <string>
#include <vector>

namespace glia {

namespace nisa {
struct Kernel;
}

// Called after each rewrite of the graph, with its name: may look at the function, and in tests damages it, to see that it is noticed.
using RewriteHook = std::function<void(std::string_view rewrite, mlir::func::FuncOp main)>;

struct GraphOptions {
  std::string target = "trn2";
  // Called when a phase begins ("simplify", "group", "kernels", "link") and for each kernel; may be empty.
  std::function<void(std::string_view phase, size_t done, size_t all)> progress;
  std::string dump; // a folder for the simplified graph, the groups and the text of each kernel; empty: none
  std::function<void(nisa::Kernel &)> onKernel; // sees each kernel before it is compiled, and may change it; may be empty
  RewriteHook onRewrite;                        // may be empty
  // 0: every group is a kernel of its own. 1: groups beside each other become one where that is faster. 2: more ways to write one are tried.
  int effort = 1;
  std::string topology;        // name or file: what the ranks lie on, for their time; empty: what is usual for the target
  bool strictSharding = false; // refuse what would be gathered because an operation needs it whole
  bool keep = false;           // on disk: kernels of this graph for later ones, in the user's cache (DiskCache.h)
  int cores = 1;               // 2: both cores of a logical one (LNC2) share the work of each group that can be cut
};

// What was tried for some groups beside each other, and what it was predicted to take.
struct RegionChoice {
  std::string kernel;
  size_t groups = 0;
  struct Way {
    std::string name; // the first: every group is a kernel of its own
    double time;      // ns
  };
  std::vector<Way> tried;
  size_t taken = 0;
};

struct CompiledGraph {
  Program program;                                // inputs arg0, arg1 ..., outputs result0, result1 ...
  size_t operations = 0, groups = 0, kernels = 0; // kernels: distinct ones
  bool written = false;                           // it brings kernels along
  uint64_t bytesOnce =
      0; // of HBM, if each argument is read once, each result written once, and each value between groups both
  std::vector<RegionChoice> choices; // of regions that are not alike
  size_t calls = 0;                  // of kernels
  Least least;                       // what the graph needs at least; the program's contract holds it too
  PartitionedGraph parts;            // how it is divided among ranks; the program's contract holds it too
};

// Compiles the function `main`, for all ranks alike if the module is for several. Throws Error with every operation that cannot
// be lowered, before any code is generated.
CompiledGraph compileGraph(mlir::ModuleOp module, const GraphOptions &options = {});

// What the graph needs at least, without compiling it. Throws what simplifying it throws.
Least boundGraph(mlir::ModuleOp module, const GraphOptions &options = {});

// The names of the rewrites, in their order.
std::vector<std::string_view> graphRewrites();

} // namespace glia
