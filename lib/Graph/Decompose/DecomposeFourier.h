// Writes fft as products with matrices of sines and cosines; long ones in factors.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeFourier(mlir::func::FuncOp main);

} // namespace glia::emit
