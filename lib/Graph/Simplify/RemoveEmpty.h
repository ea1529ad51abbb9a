// Tensors without elements are legal and nobody computes them: operations that read one next to other things are replaced by what is left.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void removeEmpty(mlir::func::FuncOp main);

} // namespace glia::emit
