// Bodies of windows and sorts that compute on scalars what whole tensors can be given to as well.
#pragma once
#include "GraphBuilder.h"

namespace glia::emit {

// Pointwise operations and constants only.
bool isPlainBody(mlir::Block &body);

// The body on tensors of one shape: what it returns. Scalars that it takes from outside are the same for all elements.
llvm::SmallVector<mlir::Value> applied(GraphBuilder &g, mlir::Block &body, mlir::ValueRange arguments);

} // namespace glia::emit
