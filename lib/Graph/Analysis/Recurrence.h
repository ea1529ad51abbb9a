// A recurrence along one dimension, as an operation of a graph: `stablehlo.custom_call @glia.recurrence(factors, terms[, start])` with
// backend_config = {dimension = d : i64, reverse = false, scale = "multiply", combine = "add"}:
//
//   result[0] = terms[0], or combine(scale(factors[0], start), terms[0]) with a start
//   result[t] = combine(scale(factors[t], result[t - 1]), terms[t])
//
// reverse: t counts from the end. Factors, terms and result are floats of one type; the state between steps is fp32. The start has one dimension less.
#pragma once
#include "GraphBuilder.h"

#include <optional>

namespace glia::emit {

struct Recurrence {
  mlir::Value factors, terms, start; // no start: the first term begins
  int64_t dim = 0;
  llvm::StringRef scale, combine; // names of operations: multiply and add, add and maximum, add and minimum
  bool reverse = false;
};

// What such an operation says; nullopt for any other, or one that contradicts itself.
std::optional<Recurrence> recurrenceOf(mlir::Operation *op);
bool isRecurrence(llvm::StringRef scale, llvm::StringRef combine); // operations that go together
// One in reverse whose steps are neighbours in memory goes forward, between two reversals.
mlir::Value makeRecurrence(GraphBuilder &g, Recurrence r);

// result[t] = x[0] op ... op x[t] along a dimension, or x[t] op ... op x[last]: a `reduce_window` whose windows grow. Null if nothing is neutral for the operation.
mlir::Value runningFold(GraphBuilder &g, llvm::StringRef op, mlir::Value x, int64_t dim, bool reverse = false);

} // namespace glia::emit
