// batch_norm_training, batch_norm_inference and batch_norm_grad as pointwise operations and reductions.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// In fp32 for narrower types, so that each result is rounded once.
void decomposeBatchNorms(mlir::func::FuncOp main);

} // namespace glia::emit
