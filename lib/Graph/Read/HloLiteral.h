// Element types and constants of HLO.
#pragma once
#include "HloProto.h"
#include "glia/Graph/Graph.h"

namespace glia::graph::hlo {

// Null when there is no such type of elements here.
mlir::Type elementType(int64_t primitive, mlir::MLIRContext *context);
// Of one value that is no tuple. Errors name `at`.
mlir::Type typeOf(const Shape &shape, mlir::MLIRContext *context, const ByteCursor &at);
// Of a literal that is no tuple, in row-major order whatever its layout.
mlir::DenseElementsAttr readLiteral(ByteCursor literal, mlir::MLIRContext *context);
// The literals of a tuple; of another one itself.
std::vector<ByteCursor> literalParts(ByteCursor literal);

} // namespace glia::graph::hlo
