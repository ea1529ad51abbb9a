#include "Machine.h"
#include "glia/Program/RankContract.h"

namespace glia {

RunResult run(const Program &p, const TensorData &inputs, const RunOptions &options) {
  return runInPlace(p, viewsOf(inputs), options);
}

RunResult runInPlace(const Program &p, const TensorViews &inputs, const RunOptions &options) {
  if (!options.link && ranksOf(p) > 1)
    return sim::runWhole(p, inputs, options);
  sim::checkInputs(p, inputs);
  if (options.outputs)
    sim::checkOutputs(p, *options.outputs);
  return options.strict ? sim::runStrict(p, inputs, options) : sim::runFast(p, inputs, options);
}

} // namespace glia
