// Functions that the engines do not have, made of those that they have: hyperbolic and inverse functions, erfc, erf_inv, gamma functions
// and the like, in f32; and operations on the bits of floats. docs/numerics.md says how close they come.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

void decomposeFunctions(mlir::func::FuncOp main); // DecomposeChlo.cpp
void decomposeBits(mlir::func::FuncOp main);      // DecomposeBits.cpp

// Integers in the total order of floats: -NaN < -infinity < ... < -0 < +0 < ... < NaN. Null for f64, and for types of 8 bits that have no -0.
class GraphBuilder;
mlir::Value orderedBits(GraphBuilder &g, mlir::Value x);

} // namespace glia::emit
