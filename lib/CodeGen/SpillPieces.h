// What of a tensor a spill moves. Bytes that nobody wrote, or that only a loop that may not run wrote, must not share a transfer
// with others: a transfer that reads one undefined byte leaves all of its destination undefined.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

#include <vector>

namespace glia::codegen {

// Views of the tensor that together hold everything written to it up to `last` (in the block of the allocation), in an order
// in which they can be stored and brought back. Too many of them: the whole tensor.
std::vector<nisa::TensorOperand> piecesToMove(nisa::AllocOp op, mlir::Operation *last, const Target &target);

} // namespace glia::codegen
