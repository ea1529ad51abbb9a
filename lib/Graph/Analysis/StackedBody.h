// The body of a counted loop for all iterations at once: what a value is in iteration t is element t of a tensor with one dimension more,
// in front; or element t from the end, if that is how the loop goes through its tensors. Only what can be said so without following the loop: elements of tensors that the loop does not change, the counter, and
// operations on these.
#pragma once
#include "GraphBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace glia::emit {

// A `while` that counts from 0 by ones to a constant.
struct CountedLoop {
  mlir::Operation *op = nullptr;
  unsigned counter = 0; // which carried value
  int64_t count = 0;
  bool backward = false; // it reads and writes rows from the last to the first
};
std::optional<CountedLoop> countedLoop(mlir::Operation *loop);
// An index is the counter (false), or the last one minus the counter (true).
std::optional<bool> isBackward(const CountedLoop &loop, mlir::Value index);

class StackedBody {
public:
  StackedBody(GraphBuilder &g, const CountedLoop &loop);

  struct Stacked {
    mlir::Value value;
    bool perStep = false; // [count, shape]; else the same in each iteration, [shape]
  };
  // nullopt: it depends on something that is carried and not known yet, or on an operation that is not followed.
  std::optional<Stacked> of(mlir::Value inBody);
  // What is known from outside: a carried value of all iterations.
  void set(mlir::Value inBody, Stacked s);
  mlir::Value perStep(const Stacked &s);     // [count, shape], repeated if need be
  mlir::Value reversed(mlir::Value stacked); // along the iterations

private:
  GraphBuilder &g;
  CountedLoop loop;
  llvm::DenseMap<mlir::Value, Stacked> known;
  llvm::DenseSet<mlir::Value> unknown;

  std::optional<Stacked> make(mlir::Value v);
  std::optional<Stacked> element(graph::DynamicSliceOp op);
  std::optional<Stacked> raised(mlir::Operation *op, llvm::ArrayRef<Stacked> in);
  std::optional<Stacked> products(graph::DotGeneralOp op, llvm::ArrayRef<Stacked> in, mlir::RankedTensorType type);
  mlir::Value spread(const Stacked &s, llvm::ArrayRef<int64_t> shape);
  mlir::RankedTensorType stackedType(mlir::Value inBody) const;
};

} // namespace glia::emit
