// Any bytes as a portable artifact: refused with an error, or a graph whose text reads back as the same graph.
#include "ReadsBack.h"
#include "glia/Graph/Parse.h"
#include "glia/Graph/Read.h"

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return readsBack(
      data, size, [](std::string_view bytes) { return graph::readBytecode(bytes, "fuzz.mlirbc"); },
      [](std::string_view text) { return graph::parseGraph(text, "again.mlir"); });
}
