// Integers that a group makes of the bits of a float, such as the keys that a float is sorted by.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

struct FloatBits {
  mlir::Value number;   // the float
  Group before, behind; // what makes it of the group's inputs; what makes the integers of it and of these
};
// nullopt: the output does not hang on the bits of exactly one float of the group.
std::optional<FloatBits> floatBitsOf(const Group &g, mlir::Value output);

} // namespace glia::emit
