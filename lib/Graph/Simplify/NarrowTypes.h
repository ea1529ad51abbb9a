// 64-bit integers and floats as 32-bit ones, where that changes nothing: integers whose range is proved to fit, floats that hold nothing
// but values of narrower types. Everything else is refused, all of it at once.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Throws Error GRAPH-TYPE with every argument, result and operation that cannot be narrowed.
void narrowTypes(mlir::func::FuncOp main);

} // namespace glia::emit
