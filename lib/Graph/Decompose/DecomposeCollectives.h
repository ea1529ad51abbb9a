// Exchanges between ranks become calls of @glia.collective, which the machine has: one tensor, groups of ranks by number, blocks of ranks along the
// first dimension. What the machine cannot combine is gathered and combined by each rank itself.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeCollectives(mlir::func::FuncOp main);

} // namespace glia::emit
