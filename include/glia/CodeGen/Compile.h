// From a kernel to an object: the passes in their order, then the machine program they describe.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

#include <functional>
#include <string>
#include <vector>

namespace glia {

struct CompileOptions {
  std::string dump;       // a folder: the IR after each stage is written there; empty: none
  bool keepTiles = true;  // see Passes.h; kernels that are made from graphs plan their loads themselves
  bool tryOrders = false; // more than one order of instructions, which takes more than twice as long
};

// Rules known before anything is placed or scheduled, on the kernel as written: each with its source line.
std::vector<Diagnostic> checkKernel(nisa::Kernel &k);

// Choices that change bits (engines): made before code generation and before the sequential executor.
void prepareKernel(nisa::Kernel &k);

// A kernel object: a program that can run alone, with symbols for what is bound when linked, and its contract.
// Throws Error with every problem found. An internal error (a bug) is an Error INTERNAL with a reproducer written beside.
Program compileKernel(nisa::Kernel &k, const CompileOptions &options = {});

} // namespace glia
