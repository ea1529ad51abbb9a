// Shardings in the form that was before Shardy: strings such as "{devices=[2,1,4]<=[8] last_tile_dim_replicate}".
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::partition {

// `mhlo.sharding` of arguments and results, and custom calls of @Sharding, become what `sdy` says for the same. Throws Error GRAPH-SHARDING for
// what is malformed, and for @SPMDFullToShardShape and @SPMDShardToFullShape.
void readStringShardings(mlir::ModuleOp module);

} // namespace glia::partition
