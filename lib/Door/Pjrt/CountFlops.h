// How much arithmetic a graph asks for.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::pjrt {

// Operations on numbers in `main` and what it calls: two for each pair that a dot or a convolution multiplies, one for each element that
// an elementwise operation makes or a reduction takes. The body of a loop counts once.
double countFlops(mlir::func::FuncOp main);

} // namespace glia::pjrt
