// What uses the tensors of SBUF, in program order.
#pragma once
#include "SpillPlan.h"

namespace glia::codegen {

// Fills in everything about the tensors but their lifetimes and stays.
void findUses(nisa::CoreOp core, const std::vector<PlannedTensor *> &tensors, const Target &target);

} // namespace glia::codegen
