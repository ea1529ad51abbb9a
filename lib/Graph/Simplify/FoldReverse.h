// Convolutions that read their kernel backwards instead of a reversed copy of it.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// convolution(x, reverse(w, spatial dimensions)) becomes a convolution of w with those windows reversed; the gradient of an input is
// written that way.
void foldKernelReverses(mlir::func::FuncOp main);

} // namespace glia::emit
