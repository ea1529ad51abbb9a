// Two instructions become one where the machine has one that gives the same bits. For kernels that the compiler wrote: an author's
// calls are taken at their word.
#pragma once
#include "glia/Transforms/ChooseEngines.h"

namespace glia {

void combineInstructions(nisa::KernelOp kernel, Aim aim = Aim::Even);

} // namespace glia
