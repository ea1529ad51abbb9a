// x + c x^3, as the approximation of gelu by tanh has it, with one operation on two tensors less.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// x + c * ((x * x) * x) becomes x * (1 + c * (x * x)), for c > 0 and in f32 only: narrower types round what is between, so nothing is
// saved there. Both are within 2 ulp of the exact sum: nothing cancels. NaN, infinities and zeros of x are the same. Where x^3 overflows and
// c x^3 does not, the old sum is infinite and the new one exact.
void factorCubes(mlir::func::FuncOp main);

} // namespace glia::emit
