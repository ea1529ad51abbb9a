// Physical registers: each engine has its own, and a virtual register takes one from its first to its last place there.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

#include <map>

namespace glia::codegen {

// (virtual register, engine) -> number. Throws Error KERNEL-REGISTERS if an engine has too few.
using RegisterNumbers = std::map<std::pair<void *, int>, int>;
RegisterNumbers allocateRegisters(nisa::CoreOp core, const Target &target);

} // namespace glia::codegen
