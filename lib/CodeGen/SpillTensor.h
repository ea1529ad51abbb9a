// Moves a tensor of SBUF to HBM where it is not used for a while.
#pragma once
#include "Lifetimes.h"
#include "glia/Target/Target.h"

namespace glia::codegen {

// Picks the tensor live at `place` whose next use is furthest away, stores it after its last use and loads it again before the
// next, as a new tensor. The kernel's attribute `spills` says so. False if there is none.
bool spillTensor(nisa::CoreOp core, const std::vector<Lifetime> &live, uint32_t place, const Target &target);

} // namespace glia::codegen
