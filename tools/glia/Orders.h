// `glia run --every-order`: all orders of a small program, and what it prints about them.
#pragma once
#include "Tool.h"
#include "glia/Sim/EveryOrder.h"

namespace glia::tool {

// Returns the exit status: 0 if every order gives the same outputs. These are left in `outputs`.
int everyOrder(const Tool &tool, const Program &p, const TensorData &inputs, const OrderOptions &options,
               TensorData &outputs);
// `glia run --strict --schedule`: how each of these orders ends. Returns the exit status: 0 if all end well and alike.
int runOrders(const Tool &tool, const Program &p, const TensorData &inputs, const std::vector<Schedule> &orders,
              RunOptions options);

} // namespace glia::tool
