// QR decompositions in a graph by Householder's reflections, I - tau v v', in panels of columns.
#pragma once
#include "MatrixBuilder.h"

namespace glia::emit {

// As LAPACK's geqrf: R in the upper triangle, the vectors v below it, without their leading ones, and tau.
struct Reflections {
  mlir::Value matrix, taus; // [batch, rows, columns], [batch, min(rows, columns)]
};
Reflections reflections(MatrixBuilder &m, mlir::Value a);

// The first columns of the product of reflections, as many as the matrix has (LAPACK's orgqr, ungqr).
mlir::Value productOf(MatrixBuilder &m, Reflections of);

} // namespace glia::emit
