// What the fuzz targets of graphs have in common: bytes are refused with an error, or are a graph whose text reads back as the same graph.
#pragma once
#include "glia/Graph/Parse.h"
#include "glia/Support/Diagnostic.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace glia {

template <class Read> int readsBack(const uint8_t *data, size_t size, Read &&read) {
  std::string text;
  try {
    graph::Graph g = read(std::string_view(reinterpret_cast<const char *>(data), size));
    text = g.text();
  } catch (const Error &e) {
    if (e.diagnostics().empty())
      std::abort();
    return 0;
  }
  if (graph::parseGraph(text, "again.mlir").text() != text) // what it printed must be accepted
    std::abort();
  return 0;
}

} // namespace glia
