// Instructions on chip that bring the elements that lie in two tiles from one to the other: copies of runs of partitions, or transposes.
#pragma once
#include "TransferMap.h"
#include "glia/Target/Target.h"

#include "mlir/IR/Builders.h"

namespace glia::codegen {

// What it makes is added to `made`, also if it cannot be done: false, and the caller takes it away.
bool moveOnChip(mlir::OpBuilder &b, mlir::Location loc, const Target &target, mlir::Value from, const TransferMap &to,
                const SharedBox &box, std::vector<mlir::Operation *> &made);

} // namespace glia::codegen
