// One group as a program of its own: its inputs are in0, in1 ..., its outputs out0, out1 ...
#pragma once
#include "glia/Dialect/Kernel.h"
#include "glia/Lower/Family.h"
#include "glia/Program/Program.h"

#include <functional>

namespace glia::emit {

// `written` sees the kernel before it is compiled. Throws Error GRAPH-INTERNAL, with the group written down as a graph, for what is no
// mistake of the user's.
// On two cores each computes half, if the group can be cut (SplitGroup.h).
Program compileGroup(const Group &g, const std::string &kernel, const std::string &target, int cores = 1,
                     const std::function<void(nisa::Kernel &)> &written = {});

} // namespace glia::emit
