// Kernels that write an output over one of their inputs.
#pragma once
#include "glia/Dialect/Kernel.h"

namespace glia::emit {

// A kernel that reads a tensor as an input and writes it as an output is right if it reads each element before it writes it, and no
// core reads what another one writes. Asked of the whole kernel, as it was written; what is not seen to be so (loops, addresses in
// registers) is false.
bool readsBeforeWriting(nisa::Kernel &kernel, llvm::StringRef tensor);

// From here on the input lies where the output does; nothing changes if the kernel does not read it.
void putInPlace(nisa::Kernel &kernel, llvm::StringRef input, llvm::StringRef output);

} // namespace glia::emit
