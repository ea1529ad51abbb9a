// Brings a module into the form that groups are made of: one function without
// calls, nothing unused, equal operations once.
#pragma once
#include "glia/Region/CompileGraph.h"

namespace glia::emit {

// Behind the first, `main` has no calls. Behind the second, operations are erased and none is made.
constexpr std::string_view kInlined = "inline calls", kRewritten = "fold transposes";

// Throws Error GRAPH-MAIN if there is no function `main`, GRAPH-RECURSION,
// GRAPH-CALL for an unknown callee. `after` may be empty.
mlir::func::FuncOp simplifyGraph(mlir::ModuleOp module, const RewriteHook &after);

} // namespace glia::emit
