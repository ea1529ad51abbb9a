#include "glia/ISA/Runs.h"

namespace glia {

int64_t runBytes(const Pattern &p) {
  int64_t run = 1;
  for (int i = p.rank - 1; i >= 0; --i) {
    if (p.dims[i].count == 1)
      continue;
    if (p.dims[i].stride != run)
      break;
    run *= p.dims[i].count;
  }
  return run * sizeOf(p.dtype);
}

} // namespace glia
