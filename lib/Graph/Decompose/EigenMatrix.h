// Eigenvalues and eigenvectors of symmetric and Hermitian matrices in a graph, by Jacobi's rotations.
#pragma once
#include "MatrixBuilder.h"

namespace glia::emit {

struct Eigen {
  mlir::Value vectors, values; // columns of [batch, n, n]; [batch, n], ascending
};
// One triangle is read. NaN everywhere if a matrix has numbers that are not finite.
Eigen eigen(MatrixBuilder &m, mlir::Value a, bool lower);

} // namespace glia::emit
