// What the verifier says of a program that glia itself compiled. The author of a graph, or of a kernel, decides neither semaphores nor the
// order of instructions: where such a rule is broken, the compiler is at fault, and says so.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum class CompiledFrom : uint8_t {
  Kernel, // also a graph that brings kernels along: what a kernel may break itself stays its author's
  Graph,  // everything is the compiler's
};

// The diagnostics in their order; those that are the compiler's become INTERNAL or GRAPH-INTERNAL, with the rule in the first note.
std::vector<Diagnostic> withCompilerFaults(std::vector<Diagnostic> found, const Program &p, CompiledFrom from);

} // namespace glia
