// Convolutions of three and more spatial dimensions as ones of two, and those of integers as products.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// The taps along a dimension are channels side by side, and its outputs are images: one convolution with one rounding, as before.
void decomposeConvolutions(mlir::func::FuncOp main);

} // namespace glia::emit
