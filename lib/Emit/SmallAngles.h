// Which sines and cosines are of small angles: found on the whole graph, where it is known what an argument is made of.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void markSmallAngles(mlir::func::FuncOp main);
bool isSmallAngle(mlir::Operation *op);

} // namespace glia::emit
