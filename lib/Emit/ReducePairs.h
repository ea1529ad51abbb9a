// Reductions with any body of pointwise operations, of one tensor or several together.
#pragma once
#include "mlir/IR/Operation.h"

namespace glia::emit {

// Writes the reduction out as steps that each combine every two neighbours, so that the order of the elements is kept. False if its body
// is none of pointwise operations; else the operation has no users any more.
bool reduceByPairs(mlir::Operation *op);

} // namespace glia::emit
