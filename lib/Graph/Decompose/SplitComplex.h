// Complex numbers of f32 become two tensors each, of real and of imaginary parts, wherever they are: in arguments and results, which the
// program holds as f32[..., 2], the same bytes, in constants, loops and branches.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Throws Error with every operation that has no form in parts, and every value of complex<f64>.
void splitComplex(mlir::func::FuncOp main);

} // namespace glia::emit
