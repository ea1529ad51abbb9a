// One reduction of a tensor in HBM over any axes, in a kernel of its own.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

void reduceAlone(KernelBuilder &k, mlir::Operation *op, const Tile &in, const Tile &out);

} // namespace glia::emit
