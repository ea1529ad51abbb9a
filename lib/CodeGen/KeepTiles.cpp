#include "glia/CodeGen/Passes.h"

namespace glia {

bool keepTiles(nisa::KernelOp kernel, const Target &target) {
  if (kernel.asWritten())
    return false;
  const size_t renamed = renameTiles(kernel), hoisted = hoistLoads(kernel, target);
  return reuseLoads(kernel, target) + renamed + hoisted > 0;
}

} // namespace glia
