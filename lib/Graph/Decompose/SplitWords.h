// 64-bit integers that 32 bits do not hold, as two words each: seeds, counters, token numbers of frameworks that know no other integers.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Values whose range is proved to fit into 32 bits stay as they are (narrowTypes is for them). An argument or result of type
// tensor<...xi64> becomes tensor<...x2xui32>: the same bytes. Operations that are not written in words keep their types.
void splitWords(mlir::func::FuncOp main);

} // namespace glia::emit
