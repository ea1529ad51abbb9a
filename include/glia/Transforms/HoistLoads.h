// A load in a loop of the program that brings the same bytes in every iteration goes in front of the loop.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

namespace glia {

// How many loads moved. Only as many tiles stay through a loop as leave room for others.
size_t hoistLoads(nisa::KernelOp kernel, const Target &target);

} // namespace glia
