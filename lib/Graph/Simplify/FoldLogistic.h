// 1 / (1 + exp(-x)), as graphs write the logistic function, by the table of that function: one operation of the Scalar engine instead of
// an exponential, a sum and a reciprocal.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// a / (1 + exp(-x)) becomes a * logistic(x), where a is a number or made of x and bounded functions: infinite only where x is, and NaN
// only where that makes the quotient NaN as well. The new quotient is within 1.5 ulp of the exact one (4 where the logistic is no normal
// number), the old has the roundings of three operations. NaN, zeros and infinities are those of the old one: exp(inf) makes 0 of a finite a
// and NaN of an infinite one, as a factor 0 does. Where exp(-x) overflows and x is finite (f32 and bf16 from -88.7 on, f16 from -11.1 on)
// the old quotient is 0, and the new one the exact one: a times a number below the smallest normal one of the type.
void foldLogistics(mlir::func::FuncOp main);

} // namespace glia::emit
