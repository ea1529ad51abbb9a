// Windows over several tensors together, or whose body is more than one operation: written out, element of the window after element.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeWindows(mlir::func::FuncOp main);
bool writeOut(
    graph::ReduceWindowOp
        op); // whatever its body; false if the window is too large, or the body has more than operations on elements

} // namespace glia::emit
