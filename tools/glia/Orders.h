// `glia run --every-order`: all orders of a small program, and what it prints about them.
#pragma once
#include "Tool.h"
#include "glia/Sim/EveryOrder.h"

namespace glia::tool {

// Returns the exit status: 0 if every order gives the same outputs. These are left in `outputs`.
int everyOrder(const Tool &tool, const Program &p, const TensorData &inputs, const OrderOptions &options,
               TensorData &outputs);

} // namespace glia::tool
