// Sums over ranks that are added up become one.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::partition {

// all_reduce(a) + all_reduce(b) over the same groups is all_reduce(a + b): the gradients of a value that several contractions read.
void mergeSums(mlir::func::FuncOp main);

} // namespace glia::partition
