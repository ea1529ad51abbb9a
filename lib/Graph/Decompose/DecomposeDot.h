// Dots that add nothing up, such as outer products and products by element, are multiplications of broadcast operands; so are many very
// small ones, whose products are then added up.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeDots(mlir::func::FuncOp main);

} // namespace glia::emit
