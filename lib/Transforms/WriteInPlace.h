// Tiles that are large beside SBUF are few, and the next rows wait for them. An instruction that works element by element writes its result
// where it has read what nobody reads behind it; what nobody reads at all has one place for the whole kernel.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

namespace glia {

// Engines have been chosen. What is used in loops stays as it is.
void writeInPlace(nisa::KernelOp kernel, const Target &target);

} // namespace glia
