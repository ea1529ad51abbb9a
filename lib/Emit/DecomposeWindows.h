// Windows over several tensors together, whose body looks at all of them: written out, element of the window after element.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void decomposeWindows(mlir::func::FuncOp main);

} // namespace glia::emit
