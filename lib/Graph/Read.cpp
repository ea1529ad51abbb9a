#include "glia/Graph/Read.h"

#include <algorithm>

namespace glia::graph {

// A text has no control characters but those that begin lines and columns; an HloModuleProto has some among its first bytes.
static bool isBinary(std::string_view bytes) {
  return std::ranges::any_of(bytes.substr(0, 4096), [](char c) {
    const auto b = static_cast<unsigned char>(c);
    return b < 0x20 && b != '\t' && b != '\n' && b != '\r' && b != '\f' && b != '\v';
  });
}

Graph readGraph(std::string_view bytes, std::string_view file) {
  if (bytes.starts_with("ML\xefR"))
    return readBytecode(bytes, file);
  return isBinary(bytes) ? readHlo(bytes, file) : parseGraph(bytes, file);
}

} // namespace glia::graph
