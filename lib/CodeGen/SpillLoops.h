// Loops that do not find room beside the tensors that they use.
#pragma once
#include "SpillPlan.h"

namespace glia::codegen {

// Tensors that the loops use are kept in HBM while these run: an iteration brings one before its first use in the body and stores it
// after its last, so that it can leave between. The first round takes one tensor of each loop, each round after it twice as many, those
// first that take most. False if there is none.
bool spillInLoops(nisa::CoreOp core, const SpillPlan &plan, int round, const Target &target);

} // namespace glia::codegen
