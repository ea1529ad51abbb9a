// Windows over several tensors together, or whose body is no single operation that combines: written out, element of the window after
// element, or, if they grow from one end of a dimension, by doubling distances.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void decomposeWindows(mlir::func::FuncOp main);

// A start that is computed is combined with what a window gives from a start that changes nothing, unless it counts for each place in the
// padding. After constants are folded.
void startWindowsApart(mlir::func::FuncOp main);

// Whatever its body; false if the window is too large, or the body has more than operations on elements.
bool writeOut(graph::ReduceWindowOp op);
// Of a start that changes nothing; false if the window does not grow from one end of one dimension, or because of the body.
bool writeGrowing(graph::ReduceWindowOp op);

} // namespace glia::emit
