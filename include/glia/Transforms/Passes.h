// The kernel passes under their command-line names, for glia-opt and for the compiler's pipeline.
#pragma once
#include "glia/Dialect/Nisa.h"

#include <functional>

namespace glia {

void registerTransforms();

// A function on a kernel as a pass of glia-opt. What it throws is reported where the instruction came from.
// The two texts must live for ever.
void registerKernelPass(llvm::StringRef argument, llvm::StringRef description,
                        const std::function<void(nisa::KernelOp)> &function);

} // namespace glia
