// Functions that the Scalar engine has a table for and that graphs write with other operations: one operation instead of many, and less
// error than those have. A program may have tables of eight sets: a function is folded where the graph needs few others, and where no
// kernel of the graph's own needs its tables.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// x / 2 times erfc(-x / sqrt 2), or times 1 + erf(x / sqrt 2), becomes gelu(x); times 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)),
// gelu_apprx_tanh(x): within 1 ulp of the exact function, where roundings of the argument make many of them of the old one far
// below 0. NaN, zeros and infinities are the old ones: where the tables give -0 at -infinity, NaN is made of it (0 min(0, x), or x + infinity, is NaN there alone). The numbers may be off
// by one rounding of the type.
void foldGelus(mlir::func::FuncOp main);

// softplus(x) = log(1 + exp(x)), within 1 ulp, also at NaN and infinities, and never where exp(x) overflows:
//   log_plus_one(exp(-|x|))                                softplus(-|x|)
//   max(x, 0) + log_plus_one(exp(-|x|))                    softplus(x)
//   the same, where x is no number x                       softplus(x)
//   log_plus_one(exp(x)), where x is above 17 or more x    softplus(x)
void foldSoftplus(mlir::func::FuncOp main);

} // namespace glia::emit
