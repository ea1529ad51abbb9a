// Any text as a target file.
#include "glia/Target/Target.h"
#include "glia/Support/Diagnostic.h"

#include <cstdlib>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    const auto t = parseTarget({reinterpret_cast<const char *>(data), size}, "fuzz.toml");
    if (t->partitions < 1 || t->registers < 1 || t->name.empty())
      std::abort();
  } catch (const Error &e) {
    if (e.diagnostics().empty())
      std::abort();
  }
  return 0;
}
