// What a kernel object uses and promises, in words a linker can add up.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Program/Program.h"

namespace glia::codegen {

void addContract(Program &p, nisa::KernelOp k);

} // namespace glia::codegen
