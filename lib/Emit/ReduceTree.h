// Reductions by any body of operations on elements: neighbours are combined in pairs, all at once, until one is left. The order of the
// elements stays; which of them are combined first is the choice of whoever reduces.
#pragma once
#include "GraphBuilder.h"

namespace glia::emit {

using Combine = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange before, mlir::ValueRange after)>;

// Tensors of [rows, n], combined along n.
llvm::SmallVector<mlir::Value> folded(GraphBuilder &g, llvm::SmallVector<mlir::Value> x, Combine combine);

// False if the body is more than that.
bool writeByTree(graph::ReduceOp op);

} // namespace glia::emit
