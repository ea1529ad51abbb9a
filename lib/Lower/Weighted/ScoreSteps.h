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

// Through broadcasts, transposes, reshapes and conversions of floats that keep 16 bits; `ops` gets these.
TensorView viewOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops);

// A conversion of floats that may be left out: to 16 bits or more.
bool keepsDigits(mlir::Operation *convert);

struct ScoreStep {
  enum Kind : uint8_t { Scale, Function, Combine, Choose };
  Kind kind = Scale;
  double number =
      0; // Scale: times. Combine without a tensor: the other operand. Choose: what stands where the mask is false
  std::string_view name;        // Function: of `activation`. Combine: of `alu_op`
  bool reversed = false;        // Combine: the score is the second operand. Choose: the number stands where the mask is true
  TensorView view;              // Combine, Choose: the tensor, seen as
  mlir::Value at;               // this value, which the step gives
  std::vector<int64_t> strides; // of the tensor, along the dimensions of the scores
};

} // namespace glia::emit
