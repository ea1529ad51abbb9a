// Carries out a plan of spills.
#pragma once
#include "SpillPlan.h"

namespace glia::codegen {

// Each stay of a tensor becomes an allocation of its own; between two, transfers store it to HBM after its last use, unless HBM has it
// already, and bring it back before the next. The kernel's attribute `spills` says so. Allocations that
// nothing uses are removed. Returns the address of every allocation.
llvm::DenseMap<mlir::Operation *, int64_t> spillTensors(nisa::CoreOp core, const std::vector<PlannedTensor> &plan,
                                                        const Target &target);

} // namespace glia::codegen
