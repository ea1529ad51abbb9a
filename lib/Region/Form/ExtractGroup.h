// A group as a graph of its own: to evaluate it alone, and to write down what failed.
#pragma once
#include "glia/Lower/Family.h"
#include "glia/Graph/Parse.h"

namespace glia::emit {

// A module in the same context whose `main` takes the group's inputs and returns its outputs.
mlir::OwningOpRef<mlir::ModuleOp> extractGroup(const Group &g);

} // namespace glia::emit
