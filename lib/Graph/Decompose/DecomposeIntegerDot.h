// Sums of products of integers on the Tensor engine, which multiplies floats: bytes are exact as bf16, and sums of few enough products of
// bytes are exact in fp32.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeIntegerDots(mlir::func::FuncOp main);

} // namespace glia::emit
