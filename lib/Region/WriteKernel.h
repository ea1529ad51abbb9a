// What whoever writes the kernel of a group or a region needs: names and tensors of what it reads and writes, and how it ends.
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Lower/Family.h"
#include "glia/Program/Program.h"
#include "glia/Transforms/ChooseEngines.h"

#include <functional>

namespace glia::emit {

// The program's tensor for a value. Throws Error GRAPH-TYPE if the device has no such element type.
Tensor tensorOf(mlir::Value v, std::string name, TensorKind kind);

// What the kernel of a group or a region calls its inputs and outputs. An input that it does not read is none of its tensors.
inline std::string inputName(size_t i) { return "in" + std::to_string(i); }
inline std::string outputName(size_t i) { return "out" + std::to_string(i); }

// A tensor without elements, which is never read.
Tile nothing(DType t, const std::vector<int64_t> &shape);

// Choices that are left open when families have written a kernel.
void finishKernel(nisa::Kernel &kernel, bool fewTables, Aim aim = Aim::Even);

// The program that `make` gives. Throws Error GRAPH-INTERNAL, with the group written down as a graph, for what goes wrong there and is no
// mistake of the user's; GRAPH-SBUF if it does not fit a target of the user's own.
Program guarded(const Group &g, const std::string &kernel, const std::string &target, const std::function<Program()> &make);

} // namespace glia::emit
