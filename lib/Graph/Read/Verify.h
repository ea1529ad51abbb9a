// What the verifiers share: each check emits its error and returns failure.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::graph {

using Shape = llvm::SmallVector<int64_t>;

// Dimension numbers: within [0, rank), each once; `sorted` when their order matters.
llvm::LogicalResult checkDims(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<int64_t> dims, int64_t rank,
                              bool sorted = false);
llvm::LogicalResult checkSize(mlir::Operation *op, llvm::StringRef name, size_t size, size_t expected);
llvm::LogicalResult checkType(mlir::Operation *op, const llvm::Twine &what, mlir::Type found, mlir::Type expected);
// The type of the op's result follows from its operands.
llvm::LogicalResult checkResult(mlir::Operation *op, unsigned number, llvm::ArrayRef<int64_t> shape, mlir::Type element);
llvm::LogicalResult checkElement(mlir::Operation *op, const llvm::Twine &what, mlir::Type found, mlir::Type expected);

inline mlir::RankedTensorType tensor(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }
inline mlir::Type element(mlir::Value v) { return tensor(v).getElementType(); }
mlir::RankedTensorType scalarOf(mlir::Type element);
// Whether an accumulator of type `to` can hold values of type `from`: the same kind, at least as wide.
bool isPromotable(mlir::Type from, mlir::Type to);

// A region of one block with these argument types that ends with `stablehlo.return` of these types.
llvm::LogicalResult checkRegion(mlir::Operation *op, llvm::StringRef name, mlir::Region &region, mlir::TypeRange arguments,
                                mlir::TypeRange results);
// A region that combines pairs of scalars, with accumulators of these element types.
llvm::LogicalResult checkReducer(mlir::Operation *op, llvm::StringRef name, mlir::Region &region, mlir::TypeRange elements);

// ---- windows (VerifyWindow.cpp) ---------------------------------------------------------------------------------------------
struct Window {
  llvm::ArrayRef<int64_t> sizes;
  std::optional<llvm::ArrayRef<int64_t>> strides, baseDilations, dilations;
  mlir::DenseIntElementsAttr padding; // may be null
};
// The shape that a window leaves of `base`; checks the window too.
llvm::LogicalResult windowedShape(mlir::Operation *op, llvm::ArrayRef<int64_t> base, const Window &window, Shape &out);

} // namespace glia::graph
