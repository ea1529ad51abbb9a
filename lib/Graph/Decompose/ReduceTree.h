// Reductions by any body of operations on elements: neighbours are combined in pairs, all at once, until one is left. The order of the
// elements stays; which of them are combined first is the choice of whoever reduces.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

using Combine = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange before, mlir::ValueRange after)>;

// Tensors of [rows, n], combined along n.
llvm::SmallVector<mlir::Value> folded(GraphBuilder &g, llvm::SmallVector<mlir::Value> x, Combine combine);

// Tensors of one shape, reduced over dimensions from numbers to start with. The results have the shape of what is left. Ordered: one
// element after the other, in the order of rows, for bodies that do not give the same in every order.
llvm::SmallVector<mlir::Value> reducedByTree(GraphBuilder &g, mlir::ValueRange x, mlir::ValueRange start,
                                             llvm::ArrayRef<int64_t> dims, Combine combine, bool ordered = false);

inline constexpr int64_t kMostInOrder = 128; // each is a few operations

// False if the body is more than that, or has to go one after the other over too many.
bool writeByTree(graph::ReduceOp op);

} // namespace glia::emit
