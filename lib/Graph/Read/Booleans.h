// Constants of i1 as newer versions of MLIR print them.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace glia::graph {

// Newer printers write dense<"0x..."> : tensor<...xi1> with one byte per element, MLIR 22 reads one bit. Gives the text with the
// bits packed, each place in it unchanged; nothing when there is no such constant.
std::optional<std::string> packBooleans(std::string_view text);

} // namespace glia::graph
