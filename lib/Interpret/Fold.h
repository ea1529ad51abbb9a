// Folds of rows by one operation, for the bodies that reductions nearly always have.
#pragma once
#include "Interpret/Tensor.h"

#include <string_view>

namespace glia::interp {

// acc[i * accStep] = op(acc[i * accStep], x[i * xStep]) for i = 0 .. n-1, in this order, without rounding.
using Fold = void (*)(Word *acc, int64_t accStep, const Word *x, int64_t xStep, int64_t n);
Fold findFold(std::string_view operation, Element element); // nullptr if there is none

} // namespace glia::interp
