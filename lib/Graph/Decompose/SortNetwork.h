// Sorts of any length as a bitonic network: in each of its steps every element is compared with one that is a power of two away, and one
// of the two is taken. All steps are the same operations on whole tensors, so that they are one kernel, called again; only the movement
// of partners depends on the distance.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

struct NetworkOrder {
  // Whether a comes before b, element by element: one tensor of i1 from one tensor per operand each.
  llvm::function_ref<mlir::Value(mlir::ValueRange a, mlir::ValueRange b)> before;
  // Elements of which neither comes before the other are the same bits, and there is one operand: then this value comes last. Otherwise
  // null: equal elements stay in their order, and nothing is asked of values.
  mlir::DenseElementsAttr last;
};

// The operands along `dim`, in order.
llvm::SmallVector<mlir::Value> sortedByNetwork(GraphBuilder &g, mlir::ValueRange operands, int64_t dim,
                                               const NetworkOrder &order);

mlir::Value swapped(GraphBuilder &g, mlir::Value x, int64_t dim); // that dimension and the last

} // namespace glia::emit
