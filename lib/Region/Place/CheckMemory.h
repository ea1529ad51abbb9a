// Whether the tensors of a graph fit in HBM, before code is generated for them.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

// Throws Error GRAPH-MEMORY: how much is live where most is, and what the largest tensors are and come from.
void checkMemory(mlir::Block &body, const std::vector<Group> &groups, const Target &target);

} // namespace glia::emit
