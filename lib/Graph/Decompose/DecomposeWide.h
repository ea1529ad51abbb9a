// Reductions, windows, products of matrices and scattered sums of 64-bit integers that 32 bits may not hold: in operations on elements, which
// are then written in words (SplitWords.h).
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

void decomposeWide(mlir::func::FuncOp main);

// The scatter of other elements to the same places, by the same body.
mlir::Value scattered(GraphBuilder &g, mlir::Operation *scatter, mlir::Value operand, mlir::Value updates);

} // namespace glia::emit
