// Reductions of several tensors together as reductions of one: arg-max and arg-min, and bodies that keep the tensors apart.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Leaves what it does not know; rows refuse it by name.
void decomposeReductions(mlir::func::FuncOp main);

} // namespace glia::emit
