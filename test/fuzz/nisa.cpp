// Any text as a kernel: refused with an error, or a kernel whose text reads back as the same kernel.
#include "glia/Dialect/Kernel.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text;
  try {
    nisa::Kernel k = nisa::parseKernel({reinterpret_cast<const char *>(data), size}, "fuzz.nisa");
    text = k.text();
  } catch (const Error &e) {
    if (e.diagnostics().empty())
      std::abort();
    return 0;
  }
  if (nisa::parseKernel(text, "again.nisa").text() != text) // what it printed must be accepted
    std::abort();
  return 0;
}
