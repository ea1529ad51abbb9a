// Groups of a region that have nothing to do with each other, written instruction by instruction side by side.
#pragma once
#include "Form/Region.h"
#include "glia/Dialect/Kernel.h"
#include "glia/Target/Target.h"

#include <vector>

namespace glia::emit {

// `ends[i]`: instructions of the kernel up to the end of group i. Groups that multiply, and those behind them that do not and read nothing of
// theirs, take turns in proportion to their work, so that memory is given out to both at the same time.
void braid(nisa::Kernel &kernel, const Region &r, const std::vector<uint64_t> &ends, const Target &target);

} // namespace glia::emit
