// Compares a compiled graph with the reference interpreter. Group by group: each group runs alone on the reference's own inputs, so that
// a mistake shows where it is made and nowhere else. Then the results of the whole program with those of the graph as it was given. Of a graph
// for several ranks only the latter; an argument that is each rank's own is given once, and ranks have it turned by their numbers.
#pragma once
#include "glia/Region/CompileGraph.h"
#include "glia/Interpret/Interpret.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

struct CheckedResult {  // of the whole program
  double error = 0;     // relative L2 against an evaluation in f64; integers: the share of those that differ
  double reference = 0; // the same of the reference in the graph's own types
};

struct GraphCheck {
  size_t groups = 0, kernels = 0, operations = 0; // that were compared alone; of a graph for several ranks none
  int ranks = 1;
  // GRAPH-DIFFERS: a group, then the operation in it, by how much; or a result. What the verifier says: GRAPH-INTERNAL and rules.
  std::vector<Diagnostic> wrong;
  std::vector<CheckedResult> results; // empty if a group was wrong
  bool ok() const { return wrong.empty(); }
};

// Throws what compileGraph and interpret throw.
GraphCheck checkGraph(mlir::ModuleOp module, std::vector<HostTensor> inputs, const GraphOptions &options = {});

// Arguments for `main`: floats are normal numbers, integers 0 to 15, the same for the same seed.
std::vector<HostTensor> randomInputs(mlir::func::FuncOp main, uint64_t seed);

} // namespace glia
