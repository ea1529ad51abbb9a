// One element of a tensor as a number to show or compare.
#pragma once
#include "glia/Support/DType.h"

#include <cstddef>
#include <string>

namespace glia {

double elementValue(DType t, const std::byte *at);
std::string elementText(DType t, const std::byte *at); // "1.5", "nan", "-3"

struct ElementLimits {
  double lowest = 0, largest = 0; // finite
  double smallestNormal = 0;      // of floats; 0: there are no denormals
};
ElementLimits limitsOf(DType t);

} // namespace glia
