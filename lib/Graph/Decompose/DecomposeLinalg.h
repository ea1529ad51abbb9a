// Writes triangular_solve and cholesky, and the custom calls of a QR decomposition, as products of blocks and loops over columns.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeLinalg(mlir::func::FuncOp main);

} // namespace glia::emit
