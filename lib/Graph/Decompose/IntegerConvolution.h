// Convolutions of integers: what each output meets stands side by side, and is multiplied with the kernel as a matrix. Products of integers
// are exact on the Tensor engine (DecomposeIntegerDot), which convolutions of floats would not be.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// False if it is not of integers.
bool writeAsDot(graph::ConvolutionOp op);

} // namespace glia::emit
