// Triangular matrices of a graph in blocks: their inverses and systems of equations with them.
#pragma once
#include "MatrixBuilder.h"

namespace glia::emit {

// x with a x = b. Only the triangle that `lower` names is read, without its diagonal if that is ones.
mlir::Value solveTriangular(MatrixBuilder &m, mlir::Value a, mlir::Value b, bool lower, bool unitDiagonal);
// The inverse of one block, in about log2(n) products.
mlir::Value invertTriangle(MatrixBuilder &m, mlir::Value a, bool lower, bool unitDiagonal);

constexpr int64_t kMatrixBlock = 64; // rows of a diagonal block, at most

} // namespace glia::emit
