// Truth values that only depend on where an element stands: comparisons of counts, as masks are made of.
#pragma once
#include "glia/Lower/Family.h"

#include "llvm/ADT/SetVector.h"

namespace glia::emit {

// Holds where the sum of `factors[d]` times index d, and `constant`, is not negative.
struct IndexCondition {
  std::vector<int64_t> factors; // per dimension of the value
  int64_t constant = 0;
};

// All of them hold where the value is true. nullopt: it depends on more than the place. `ops` gets the operations that say so.
std::optional<std::vector<IndexCondition>> conditionsOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops);

// A constant of truth values that says such a thing.
bool isConstantCondition(mlir::Value v);

// The factors of a broadcast, transposed or reshaped value, from those of what it is made of. False: it is no such operation, or a reshape
// that does more than add or drop sizes of 1.
bool factorsThrough(mlir::Operation *op, mlir::Value result, std::vector<int64_t> &factors);

// For what part of a tensor of that shape they hold; nullopt if they are of more than two of its dimensions.
std::optional<double> shareOf(const std::vector<IndexCondition> &conditions, const std::vector<int64_t> &shape);

} // namespace glia::emit
