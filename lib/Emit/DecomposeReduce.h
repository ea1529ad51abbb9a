// Reductions of several tensors together as reductions of one: arg-max and arg-min, and bodies that keep the tensors apart. Other bodies by
// pairs (ReducePairs.h).
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Leaves what it does not know, and comparisons that constants and narrower types may yet make an arg-max.
void decomposeReductions(mlir::func::FuncOp main);

// The same, and leaves no body of pointwise operations; rows refuse the rest by name.
void decomposeNarrowedReductions(mlir::func::FuncOp main);

} // namespace glia::emit
