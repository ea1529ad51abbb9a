// One reduction of a tensor in HBM over any axes, in a kernel of its own.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

// Sums over many rows of many columns, where the last axis is kept: the Tensor engine adds up 512 columns at a time.
bool isSumOfLongRows(mlir::Operation *op);

void reduceAlone(KernelBuilder &k, mlir::Operation *op, const Tile &in, const Tile &out);

} // namespace glia::emit
