// Writes a scheduled, synchronised kernel as a machine program: one stream per engine.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Program/Program.h"

namespace glia::codegen {

Program emitProgram(nisa::KernelOp k, const std::shared_ptr<const Target> &target);

} // namespace glia::codegen
