// What several instructions read, each of which can do it in passing, is done by each: a centred row that is squared and scaled.
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// A tensor_scalar whose readers are activations and other tensor_scalars has a copy for each of them, which becomes part of it
// (CombineInstructions.cpp).
void repeatScalars(nisa::KernelOp kernel);

} // namespace glia
