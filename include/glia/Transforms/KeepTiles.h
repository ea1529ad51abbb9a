// What an author writes as one load after the other into the same tile becomes tiles of their own, which stay as long as they are
// of use: renameTiles, hoistLoads, reuseLoads.
#pragma once
#include "glia/Dialect/Nisa.h"
#include "glia/Target/Target.h"

namespace glia {

// Whether anything changed. Every `accumulate` has been resolved.
bool keepTiles(nisa::KernelOp kernel, const Target &target);

} // namespace glia
