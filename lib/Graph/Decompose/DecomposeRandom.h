// rng_bit_generator in operations on words.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// THREE_FRY, and DEFAULT, which is the same here. Others stay.
void decomposeRandom(mlir::func::FuncOp main);

} // namespace glia::emit
