#include "glia/Transforms/KeepTiles.h"
#include "glia/Transforms/HoistLoads.h"
#include "glia/Transforms/RenameTiles.h"
#include "glia/Transforms/ReuseLoads.h"

namespace glia {

bool keepTiles(nisa::KernelOp kernel, const Target &target) {
  const size_t renamed = renameTiles(kernel), hoisted = hoistLoads(kernel, target);
  return reuseLoads(kernel, target) + renamed + hoisted > 0;
}

} // namespace glia
