// A recursion of strided slices that computes what a scan does becomes the scan.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

void foldScans(mlir::func::FuncOp main);

} // namespace glia::emit
