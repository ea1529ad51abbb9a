// The largest or smallest element of rows that several instructions write, found by these as they write.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

namespace glia {

// Gives the same bits; returns how many reductions of whole rows it took away. Pieces of a row are tensor_scalar or tensor_copy; each becomes
// tensor_scalar_reduce, and what they found is reduced instead.
size_t reduceInPassing(nisa::KernelOp kernel, const Target &target);

} // namespace glia
