// Any text as a topology file; of one that is accepted, paths between ranks and the times of collectives.
#include "glia/Support/Diagnostic.h"
#include "glia/Target/CollectiveCost.h"

#include <cmath>
#include <cstdlib>

using namespace glia;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    const auto t = parseTopology({reinterpret_cast<const char *>(data), size}, "fuzz.toml");
    if (t->ranks() < 1 || t->name.empty())
      std::abort();
    const int last = t->ranks() - 1, group[] = {0, last};
    if (!(t->path(0, last).latency >= 0))
      std::abort();
    if (last > 0 && !std::isfinite(collectiveTime(*t, CollectiveKind::AllReduce, 1 << 20, group).total))
      std::abort();
  } catch (const Error &e) {
    if (e.diagnostics().empty())
      std::abort();
  }
  return 0;
}
