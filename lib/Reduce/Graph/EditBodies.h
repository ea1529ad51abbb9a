// The bodies of reductions, sorts and the like: what they do, and single changes to those of reductions, as in GraphEdit.h.
#pragma once
#include "GraphEdit.h"

#include <set>
#include <string>

namespace glia::reduce {

// Equal texts for equal bodies. Without reductions by one operation that takes its two elements in any order.
std::set<std::string> bodiesOf(mlir::ModuleOp module);

// Each result of a reduction by a body of several operations becomes a reduction by one operation, the choice-th; a result of `main` if nothing
// reads it.
bool reduceByOne(mlir::ModuleOp module, size_t at, size_t choice);
// The body of a reduction takes its place, once, for arguments of `main`.
bool takeBody(mlir::ModuleOp module, size_t at);

} // namespace glia::reduce
