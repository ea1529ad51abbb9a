// Exchange between devices in a program of one.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

// Collectives whose groups have one member give their operands, and the only device is number 0. What takes part of several devices stays,
// and is refused.
void foldDevices(mlir::func::FuncOp main);

} // namespace glia::emit
