// Operations whose sizes are operands, where these are known: the static ones.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

// Types are static, so a size that only says the type again need not be known. Starts, strides and padding need to be constants once
// constants are folded; a slice by a step of one may start anywhere. What is left is refused.
void foldDynamic(mlir::func::FuncOp main);

} // namespace glia::emit
