// Brings a module into the form that groups are made of: one function without
// calls, nothing unused, equal operations once.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Throws Error GRAPH-MAIN if there is no function `main`, GRAPH-RECURSION,
// GRAPH-CALL for an unknown callee.
mlir::func::FuncOp simplifyGraph(mlir::ModuleOp module);

} // namespace glia::emit
