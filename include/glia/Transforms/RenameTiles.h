// A tile that is written as a whole again is a new tile from there on: it need not wait for what still uses the old contents.
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// How many tiles were made. Lifetimes only become shorter. Every `accumulate` has been resolved.
size_t renameTiles(nisa::KernelOp kernel);

} // namespace glia
