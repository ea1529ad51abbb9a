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

GraphForm formOf(std::string_view bytes) {
  if (bytes.starts_with("ML\xefR"))
    return GraphForm::Bytecode;
  return isBinary(bytes) ? GraphForm::Hlo : GraphForm::Text;
}

Graph readGraph(std::string_view bytes, std::string_view file) {
  switch (formOf(bytes)) {
  case GraphForm::Bytecode: return readBytecode(bytes, file);
  case GraphForm::Hlo: return readHlo(bytes, file);
  case GraphForm::Text: break;
  }
  return parseGraph(bytes, file);
}

} // namespace glia::graph
