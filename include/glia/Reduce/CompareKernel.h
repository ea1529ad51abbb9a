// Holds a compiled kernel against its sequential meaning.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Sim/Simulator.h"

#include <string>

namespace glia::reduce {

struct KernelVerdict {
  std::string kind;   // empty: all is well. "check", "executor", "compile", "verify", "run", "differs"
  std::string code;   // of the first finding, if there is one
  std::string detail; // for people
  int spilled = 0;    // tensors of a kernel with which all is well
  bool ok() const { return kind.empty(); }
  bool same(const KernelVerdict &o) const { return kind == o.kind && code == o.code; }
};

// The rules, the executor, the compiler, the verifier, a fast run and strict runs under two seeds. Results are equal bit by bit.
KernelVerdict compareKernel(nisa::Kernel &k, const TensorData &inputs);
// Those of the inputs that the kernel has.
TensorData inputsIn(nisa::Kernel &k, const TensorData &all);
// Nothing that the kernel gives depends on memory that it did not write.
bool selfContained(nisa::Kernel &k, const TensorData &inputs);

} // namespace glia::reduce
