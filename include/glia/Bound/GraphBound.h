// The least time of a graph.
#pragma once
#include "glia/Bound/Least.h"
#include "glia/Graph/Graph.h"

namespace glia {

// Of a function without calls, as simplification leaves it: what it removes is no work, and what it writes out counts as written.
Least leastTime(mlir::func::FuncOp main, const Target &target, int cores = 1);

} // namespace glia
