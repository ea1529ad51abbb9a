// Whether a kernel may write an output over one of its inputs.
#pragma once
#include "glia/Dialect/Kernel.h"

namespace glia::emit {

// A kernel that reads a tensor as an input and writes it as an output is right if it reads each element before it writes it, and no
// core reads what another one writes. Asked of the whole kernel, as it was written; what is not seen to be so (loops, addresses in
// registers) is false.
bool readsBeforeWriting(nisa::Kernel &kernel, llvm::StringRef tensor);

} // namespace glia::emit
