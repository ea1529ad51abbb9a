// Functions that the engines do not have, made of those that they have: hyperbolic and inverse functions, erfc, erf_inv, gamma functions
// and the like, in f32; and operations on the bits of floats. docs/numerics.md says how close they come.
#pragma once
#include "GraphBuilder.h"

namespace glia::emit {

void decomposeFunctions(mlir::func::FuncOp main); // DecomposeChlo.cpp
void decomposeBits(mlir::func::FuncOp main);      // DecomposeBits.cpp

} // namespace glia::emit
