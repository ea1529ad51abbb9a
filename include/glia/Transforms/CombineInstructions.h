// Two instructions become one where the machine has one that gives the same bits. For kernels that the compiler wrote: an author's
// calls are taken at their word.
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

void combineInstructions(nisa::KernelOp kernel);

} // namespace glia
