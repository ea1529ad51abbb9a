// Operations that give back what they are given, and pairs of movements that are one: exact for every value, NaN and -0 included.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void simplifyIdentities(mlir::func::FuncOp main);

} // namespace glia::emit
