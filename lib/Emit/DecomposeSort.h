// Sorts of rows: places by top_k, then each operand gathered by them.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

// Up to this many elements are sorted; a sort of more is refused by name.
constexpr int64_t kMostSorted = 1024;

void decomposeSorts(mlir::func::FuncOp main);

} // namespace glia::emit
