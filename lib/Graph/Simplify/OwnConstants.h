// Bodies that are judged by themselves.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

// Constants that the body of a reduction, a sort, a scatter and the like takes from outside become its own: frameworks that merge equal
// constants move them there.
void ownConstants(mlir::func::FuncOp main);

} // namespace glia::emit
