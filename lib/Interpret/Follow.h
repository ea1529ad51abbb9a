// Who looks on while a graph is evaluated: at blocks, and at each operation outside of the bodies of reductions, sorts and the like.
#pragma once
#include "Interpret/Tensor.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::interp {

using Frame = llvm::DenseMap<mlir::Value, Datum>; // the values of one call of a function that somebody will use

class Follower {
public:
  virtual ~Follower() = default;
  // The body of a function, or a region of an operation, which has its arguments in the frame.
  virtual void entered(mlir::Block &, const Frame &) = 0;
  virtual void left() = 0; // the last one that was entered
  // A return as well. What it throws ends the evaluation.
  virtual void before(mlir::Operation &) = 0;
  virtual void after(mlir::Operation &, const std::vector<Datum> &results) = 0;
};

} // namespace glia::interp
