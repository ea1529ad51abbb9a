// Collectives from a front that has no operations for them: custom calls of @glia.collective, whose backend_config is the dictionary of
// the operation: {op = "stablehlo.all_reduce", applies = "stablehlo.add", replica_groups = dense<...> : tensor<...>}.
#pragma once
#include "mlir/IR/BuiltinOps.h"

namespace glia::graph {

// Writes each as the operation that it names. Emits an error for a call that names no collective.
void writeCollectiveCalls(mlir::ModuleOp module);

} // namespace glia::graph
