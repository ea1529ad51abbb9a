// The whole-program part of the verifier.
#include "glia/Verify/Flow.h"
#include "Walk.h"

namespace glia {

void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result) {
  // Most programs are proved by a walk that takes strided reads coarsely, which is much faster where tiles are read in many ways.
  VerifyOptions one = options;
  one.maxDiagnostics = 1;
  Reporter trial(p, one);
  VerifyResult found = result;
  flow::Walk walk(p, options, trial, found, true);
  walk.run();
  if (trial.broken() || walk.lessThanExact())
    flow::Walk(p, options, reporter, result, false).run();
  else
    result = std::move(found);
}

} // namespace glia
