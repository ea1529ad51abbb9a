// Loops whose number of iterations is known become that many copies of their body, and branches that are known become their body.
// Equal iterations are equal groups later, so they are compiled once.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void unrollLoops(mlir::func::FuncOp function);

} // namespace glia::emit
