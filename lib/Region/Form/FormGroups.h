// The groups of a graph for one target, or everything that stands in the way of lowering it, said at once.
#pragma once
#include "glia/Lower/Family.h"
#include "glia/Lower/KernelCalls.h"

namespace glia::emit {

// `written`: the kernels that the graph brings along.
std::vector<Group> formGroups(mlir::Block &body, const Target &target, KernelCalls &written);

} // namespace glia::emit
