// Any text as a kernel: refused with an error, or a kernel whose text reads back as the same kernel.
#include "ReadsBack.h"
#include "glia/Dialect/Kernel.h"

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return readsBack(
      data, size, [](std::string_view text) { return nisa::parseKernel(text, "fuzz.nisa"); },
      [](std::string_view text) { return nisa::parseKernel(text, "again.nisa"); });
}
