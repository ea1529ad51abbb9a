// Decides for every matmul with accumulate auto whether it overwrites or accumulates, and lets the first matmul after a memset
// of zeros overwrite where the target cannot accumulate onto what another engine wrote.
//
// Per element of each PSUM allocation, in program order: what a matmul has written is accumulated onto. A matmul with both
// kinds of elements is split; a loop whose first iteration differs loses that iteration to the front (PeelLoop). A memset of
// zeros that nobody reads goes away. What cannot be decided, or is undefined on the target, is refused at its line.
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// Afterwards every `accumulate` is 0 or 1. Throws Error PSUM-ACCUMULATE with every problem found.
void resolveAccumulation(nisa::KernelOp kernel);

} // namespace glia
