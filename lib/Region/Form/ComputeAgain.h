// Large values that every reader computes for itself. A normalisation keeps `x - mean` and what is made of it for the way back; with `x`, which is in
// HBM anyway, and a few numbers per channel a reader has them for an instruction each, and nobody stores them.
#pragma once
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Block.h"

namespace glia::emit {

llvm::DenseSet<mlir::Operation *> computedAgain(mlir::Block &body);

} // namespace glia::emit
