// Sorts: of short rows, places by top_k and then each operand gathered by them; of others, a network of comparisons.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void decomposeSorts(mlir::func::FuncOp main);
void decomposeWideSorts(mlir::func::FuncOp main); // those of 64-bit values alone, before these are narrowed or split

} // namespace glia::emit
