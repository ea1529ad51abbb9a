#include "glia/Graph/Read.h"

namespace glia::graph {

Graph readGraph(std::string_view bytes, std::string_view file) {
  return bytes.starts_with("ML\xefR") ? readBytecode(bytes, file) : parseGraph(bytes, file);
}

} // namespace glia::graph
