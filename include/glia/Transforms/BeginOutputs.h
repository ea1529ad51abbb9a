// An output that begins as an input (`alias "x"`): the machine has no such thing, so the kernel begins with a copy.
#pragma once
#include "glia/Dialect/Nisa.h"

namespace glia {

// Core 0 copies; where there are more cores they meet behind it.
void beginOutputs(nisa::KernelOp kernel);

} // namespace glia
