// One group as a program of its own: its inputs are in0, in1 ..., its outputs out0, out1 ...
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

// `written` sees the kernel before it is compiled. Throws Error GRAPH-INTERNAL, with the group written down as a graph, for what is no
// mistake of the user's.
// On two cores each computes half, if the group can be cut (SplitGroup.h).
Program compileGroup(const Group &g, const std::string &kernel, const std::string &target, int cores = 1,
                     const std::function<void(nisa::Kernel &)> &written = {});

// Parts that whoever writes a kernel needs: choices that are left open when a family has written it; a tensor without elements, which is
// never read; and GRAPH-INTERNAL, with the group, for what goes wrong in `make`.
void finishKernel(nisa::Kernel &kernel, Aim aim = Aim::Even);
Tile nothing(DType t, const std::vector<int64_t> &shape);
Program guarded(const Group &g, const std::string &kernel, const std::string &target, const std::function<Program()> &make);

} // namespace glia::emit
