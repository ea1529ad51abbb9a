// What a graph must be beyond what its operations' verifiers see.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::graph {

using Report = llvm::function_ref<void(llvm::StringRef code, mlir::Location at, const llvm::Twine &message)>;

// Operations that are unknown, shapes that are dynamic, tensors that no memory can hold. Looks at names and types only, so that
// it can run before anything is verified.
void refuseByName(mlir::ModuleOp module, Report report);
// One block per function, functions that exist, no recursion. For verified modules.
void checkCalls(mlir::ModuleOp module, Report report);

} // namespace glia::graph
