// Calls become the bodies of what they call.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Of `main`, and of composites, which are their decompositions. Throws Error GRAPH-CALL for an unknown callee, GRAPH-RECURSION.
void inlineCalls(mlir::func::FuncOp main);

} // namespace glia::emit
