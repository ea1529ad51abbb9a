// reduce_window: rows on partitions, taps as strided views, long running sums as scans.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

// Empty, or why the operation cannot be lowered.
std::string refuseWindowReduction(mlir::Operation *op);
// `in` has no handle if every element of the operand is `splat`.
void emitWindowReduction(KernelBuilder &k, mlir::Operation *op, const Tile &in, std::optional<double> splat,
                         const Tile &out);

} // namespace glia::emit
