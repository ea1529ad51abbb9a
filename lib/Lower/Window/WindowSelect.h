// select_and_scatter: the gradient of max pooling.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

std::string refuseSelectAndScatter(mlir::Operation *op); // empty, or why it cannot be lowered
// Tiles without a handle stand for operands that are one number everywhere.
void emitSelectAndScatter(KernelBuilder &k, mlir::Operation *op, const Tile &operand, const Tile &source, const Tile &out);

} // namespace glia::emit
