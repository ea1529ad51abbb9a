#include "Machine.h"

namespace glia {

RunResult run(const Program &p, const TensorData &inputs, const RunOptions &options) {
  sim::checkInputs(p, inputs);
  return options.strict ? sim::runStrict(p, inputs, options) : sim::runFast(p, inputs, options);
}

} // namespace glia
