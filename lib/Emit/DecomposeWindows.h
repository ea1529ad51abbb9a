// Windows over several tensors together, or whose body is more than one operation: written out, element of the window after element.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void decomposeWindows(mlir::func::FuncOp main);

} // namespace glia::emit
