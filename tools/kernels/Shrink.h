// Makes a failing kernel smaller: instructions and loops are left out as long as it fails in the same way.
#pragma once
#include "Compare.h"

namespace glia::kernels {

nisa::Kernel shrink(nisa::Kernel &k, const TensorData &inputs, const Verdict &verdict, int attempts);

} // namespace glia::kernels
