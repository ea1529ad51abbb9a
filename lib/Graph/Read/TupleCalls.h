// Custom calls that give a tuple, as XLA's builders write them: the same call with several results, as JAX writes it.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace glia::graph {

// Of calls whose tuple is only taken apart.
void splitTupleCalls(mlir::ModuleOp module);

} // namespace glia::graph
