// Published kernels written as programs, for checking the timing model: what they compute and move is taken from the tutorials that
// publish their times; the distribution over engines, queues and buffers is ours.
#pragma once
#include "glia/Program/Program.h"

namespace glia::validation {

// fp32 [4096, 8192] x [8192, 8192] on one core: the four steps of the kernel optimization guide.
Program matmulTiled();       // both tiles of every product are loaded again
Program matmulHoisted();     // a column of lhs tiles stays for a row of results, a column of rhs tiles for one result
Program matmulBlockedFree(); // 2 x 2 blocks of result tiles per column of rhs
Program matmulBlocked();     // blocks in all three dimensions, partial sums added in SBUF
// Selective scan of the fused Mamba tutorial, first version: L 512, C 256, S 16, fp32, on trn1.
Program mambaV1();

} // namespace glia::validation
