// Smaller tensors: dimensions that belong together, through all operations, get one new size.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::reduce {

// The sizes of the dimensions of which operations say that they belong together, each group once, in the order of the text.
std::vector<int64_t> dimensionGroups(mlir::ModuleOp module);

// Whether the group can have that size is for the verifiers to say: constants and the attributes that repeat a size follow, nothing else does.
void resizeGroup(mlir::ModuleOp module, size_t group, int64_t size);

} // namespace glia::reduce
