// What a graph must be beyond what its operations' verifiers see.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::graph {

using Report = llvm::function_ref<void(llvm::StringRef code, mlir::Location at, const llvm::Twine &message)>;

// Shapes that are dynamic, elements that do not exist here, tensors that no memory can hold. Looks at types only, so that it can
// run before anything is verified.
void refuseByType(mlir::ModuleOp module, Report report);
// One block per function, functions that exist, no recursion. For verified modules.
void checkCalls(mlir::ModuleOp module, Report report);

} // namespace glia::graph
