// A top_k of few long rows: of parts of each row first, so that there is one for every partition, then of what those gave.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

// True if it is written so: `op` has no users then. False if it takes less time as it is.
bool splitTopK(mlir::Operation *op);

// x[..., at[..., i]]
mlir::Value takenAlongLast(GraphBuilder &g, mlir::Value x, mlir::Value at);

} // namespace glia::emit
