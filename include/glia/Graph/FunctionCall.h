// A function that engines have and StableHLO does not, as an operation of a graph: `stablehlo.custom_call @glia.function.gelu(x)`. Rewrites
// make them (Graph/Simplify/FoldTables.h). Everybody knows them by the name of the function (`opName`), as if they were operations.
#pragma once
#include <string_view>

namespace glia::graph {

inline constexpr std::string_view kFunctionCall = "glia.function.";

} // namespace glia::graph
