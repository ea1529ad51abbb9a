// A send and the recv of its channel become a collective_permute: all ranks run one program, so both stand in it. The first recv of a channel
// gets what its first send gave, and so on. Who is nobody's target receives zeros, as from a collective_permute.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void pairSends(mlir::func::FuncOp main); // throws Error GRAPH-COLLECTIVE for those that have no counterpart

} // namespace glia::emit
