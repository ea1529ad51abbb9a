// How the reference interpreter evaluates what the compiler is compared with.
#pragma once
#include "glia/Lower/KernelCalls.h"
#include "glia/Interpret/Interpret.h"

namespace glia::emit {

// Kernels in a graph are their instructions one after the other.
inline InterpretOptions reference(bool inDouble) {
  InterpretOptions options;
  options.inDouble = inDouble;
  options.onCustomCall = evaluateKernelCall;
  return options;
}

} // namespace glia::emit
