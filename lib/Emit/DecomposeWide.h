// Reductions, windows, products of matrices and scattered sums of 64-bit integers that 32 bits may not hold: in operations on elements, which
// are then written in words (SplitWords.h).
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void decomposeWide(mlir::func::FuncOp main);

} // namespace glia::emit
