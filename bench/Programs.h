// The large programs that replay, verifier and container are measured on.
#pragma once
#include "glia/Program/Program.h"

namespace glia {

// A bf16 matmul, every instruction written out: tiles of 128 x 512, 16 steps of contraction each, operands by DMA on 14
// queues into rotating buffers, results on 2 more. At least `instructions` instructions.
Program unrolledMatmul(uint64_t instructions);

// Two cores, rows of nested loops that load, scale, add and store; at least `instructions` in all, counted as they are executed or
// as they are written down, which is a tenth of that.
enum class Counted { Executed, Written };
Program loopHeavy(uint64_t instructions, Counted how);

// Nests of two loops whose counts are inputs: tiles come by DMA, are added up, and each sum goes back.
Program unknownLoops(uint64_t instructions);

// Transfers of every second row, every third element, into one tile after the other.
Program stridedTransfers(uint64_t transfers);

} // namespace glia
