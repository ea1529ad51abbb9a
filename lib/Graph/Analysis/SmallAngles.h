// Which sines and cosines are of small angles: found on the whole graph, where it is known what an argument is made of.
#pragma once
#include "Lower/Rows/SineLanes.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

void markSmallAngles(mlir::func::FuncOp main);
void requireExact(mlir::Operation *op); // also where the result is small
Angles anglesOf(mlir::Operation *op);

} // namespace glia::emit
