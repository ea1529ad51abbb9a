// Cuts a matmul into pieces whose elements are all overwritten or all accumulated.
#pragma once
#include "PsumState.h"
#include "glia/Dialect/Instruction.h"

#include <string>

namespace glia::nisa {

// Replaces `i` by the pieces that `adds` asks for. Returns why it is impossible, and then changes nothing; empty: done.
std::string splitMatmul(Instr i, const Adds &adds, int32_t dstPartition);

} // namespace glia::nisa
