// Any bytes as an HloModuleProto: refused with an error, or a graph whose text reads back as the same graph.
#include "glia/Graph/Read.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text;
  try {
    graph::Graph g = graph::readHlo({reinterpret_cast<const char *>(data), size}, "fuzz.pb");
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
