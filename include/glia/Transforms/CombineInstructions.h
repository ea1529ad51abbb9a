// Two instructions become one where the machine has one that gives the same bits, or, if roundings between may be left out, one that
// rounds to bf16 once less. For kernels that the compiler wrote: an author's calls are taken at their word.
#pragma once
#include "glia/Transforms/ChooseEngines.h"

namespace glia {

enum class Roundings : uint8_t { All, MayBeLeftOut };

void combineInstructions(nisa::KernelOp kernel, Aim aim = Aim::Even, Roundings roundings = Roundings::All);

} // namespace glia
