// What is a top_k, and which of them are picked one by one.
#pragma once
#include "mlir/IR/Operation.h"

namespace glia::emit {

// Elements of a row that can be picked one by one, and how long rows then are at most.
constexpr int64_t kMostPicks = 1024, kRowsPicked = 1 << 24;

// Whether picking so many of a row of n elements is worth it; otherwise sorting all takes less time.
bool isPicked(mlir::Type element, int64_t picks, int64_t n);

// About how long an engine takes to pick so many of n elements, of 128 rows.
double pickCycles(mlir::Type element, int64_t picks, int64_t n);

bool isTopK(mlir::Operation *op);       // in CHLO, or a custom call; TopKFamily.cpp
bool isOfSmallest(mlir::Operation *op); // a top_k of the smallest elements

} // namespace glia::emit
