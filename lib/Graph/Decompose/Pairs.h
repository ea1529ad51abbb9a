// Values that the program holds as two: an argument or result is one tensor [..., 2] with the same bytes.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

mlir::RankedTensorType pairsOf(mlir::Type type, mlir::Type element); // [..., 2]
mlir::Value partOf(GraphBuilder &g, mlir::Value pairs, int64_t which);
mlir::Value paired(GraphBuilder &g, mlir::Value first, mlir::Value second);

// Gives the argument another type, and returns a value that stands for it as it was; nobody may use it in the end.
mlir::Value retype(mlir::func::FuncOp main, mlir::BlockArgument a, mlir::Type to);
// The function's type, of the arguments and results that it has.
void updateType(mlir::func::FuncOp main);

} // namespace glia::emit
