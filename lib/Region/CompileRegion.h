// A region as a program of its own: its inputs are in0, in1 ..., its outputs out0, out1 ...
#pragma once
#include "Form/Region.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Program/Program.h"
#include "glia/Transforms/ChooseEngines.h"

#include <functional>
#include <optional>

namespace glia::emit {

// `written` sees the kernel before it is compiled. Nothing if an element would be written over that is read later, or
// if the whole does not fit the on-chip memory. Throws Error GRAPH-INTERNAL for what is no mistake of the user's.
std::optional<Program> compileRegion(const Region &r, const std::string &kernel, const std::string &target, Aim aim,
                                     const std::function<void(nisa::Kernel &)> &written = {});

} // namespace glia::emit
