// More of what can be said of a value or an operation by looking at it alone; families find what they need in glia/Lower/Family.h.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

mlir::Value rootOf(mlir::Value v); // behind all reshapes and the like: what is in HBM for it
bool isEmpty(mlir::Value v);       // a tensor without elements
// A function that engines have and StableHLO does not (glia/Graph/FunctionCall.h). A graph that was read may have anything by such a name.
bool isFunctionCall(mlir::Operation *op);
bool takes64Bits(mlir::Operation *op); // numbers of 64 bits, as an operand
// A reshape that only adds or drops dimensions of size 1: for each dimension of the result that of the operand, -1 for sizes of 1.
// nullopt: any other.
std::optional<std::vector<int>> keptDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);
// Dimensions of a dot's operand that are neither batched nor contracted, in order.
std::vector<int64_t> freeDims(size_t rank, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contract);

} // namespace glia::emit
