// Selections by the sign of what they select, as maxima and minima: a comparison, a copy and a selection less.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Of floats:
//   x > 0 ? 0 : x                         min(0, x)
//   x > 0 ? x : a x                       max(x, a x), for a from 2^-20 to 1
//   x > 0 ? x : a (exp(min(0, x)) - 1)    max(0, x) + a (exp(min(0, x)) - 1), for a from 1 on, not infinite
// In the last two the comparison may be >= as well. NaN and infinities are the same, and so are zeros (of two equal operands the second
// one is taken), but where exp(x) - 1 rounds to -0 the sum is +0.
void foldSigns(mlir::func::FuncOp main);

} // namespace glia::emit
