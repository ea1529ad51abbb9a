// Products of f32 as products of a 16-bit type, which the Tensor engine makes faster, for who allows it.
#pragma once
#include "glia/Graph/Graph.h"

#include <string_view>

namespace glia::graph {

// Rounds the operands of every f32 dot and convolution of the module to `type`, `bf16` or `f16`; sums stay f32. A product that names its
// algorithm keeps it. Nothing for an empty type; throws Error GRAPH-CAST for any other.
void roundProducts(mlir::ModuleOp module, std::string_view type);

} // namespace glia::graph
