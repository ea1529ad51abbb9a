// Scatters whose bodies are written otherwise than the emitters want them.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// A scatter that subtracts its updates adds them negated: the same numbers. One whose body is no single operation that combines is written
// by place.
void decomposeScatters(mlir::func::FuncOp main);

} // namespace glia::emit
