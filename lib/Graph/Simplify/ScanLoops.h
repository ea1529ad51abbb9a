// Counted loops whose carried values are recurrences become these recurrences, and the rest of their bodies operations on all iterations.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void scanLoops(mlir::func::FuncOp main);

} // namespace glia::emit
