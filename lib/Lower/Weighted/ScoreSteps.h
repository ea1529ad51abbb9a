// What becomes of a score between the contraction and the softmax, one step after the other: numbers, functions, and tensors in HBM that lie
// beside the scores, repeated along some of their dimensions (a bias, a mask).
#pragma once
#include "Lower/Rows/RowsView.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/SetVector.h"

namespace glia::emit {

// A value as elements of a tensor in HBM.
struct TensorView {
  mlir::Value source;
  Dims dims; // per dimension of the value
};

// Elements as they are behind a broadcast, a transpose, a reshape or a conversion of floats that keeps 16 bits; nullopt: behind another
// operation, or not by strides.
std::optional<TensorView> seenThrough(mlir::Operation *op, mlir::Value result, const TensorView &from);

// Factors of which a value is the product, as tensors that have fewer elements than it does together. `ops` gets what is between.
struct TensorProduct {
  double number = 1;
  std::vector<TensorView> views; // one or two
};
TensorProduct productOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops);

// A conversion of floats that may be left out: to 16 bits or more.
bool keepsDigits(mlir::Operation *convert);

struct ScoreStep {
  enum Kind : uint8_t { Scale, Function, Combine, Choose };
  Kind kind = Scale;
  // Scale: times. Combine without a tensor: the other operand. Choose: what stands where the mask is false.
  double number = 0;
  std::string_view name; // Function: of `activation`. Combine: of `alu_op`
  bool reversed = false; // Combine: the score is the second operand. Choose: the number stands where the mask is true
  mlir::Value at;        // what the step gives
  TensorProduct beside;  // Combine, Choose: seen as `at` is; without views: a number
  std::vector<std::vector<int64_t>> strides; // of each view, along the dimensions of the scores
};

} // namespace glia::emit
