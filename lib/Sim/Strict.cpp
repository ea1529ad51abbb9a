#include "Machine.h"

namespace glia::sim {

RunResult runStrict(const Program &, const TensorData &, const RunOptions &) {
  throw Error("RUN-MODE", "strict mode is not there yet", "Run the program in fast mode.");
}

} // namespace glia::sim
