// The whole-program part of the verifier.
#include "glia/Verify/Flow.h"
#include "Walk.h"

namespace glia {

void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result,
               std::vector<std::byte> *hints) {
  // Most programs are proved by a walk that takes strided reads coarsely, which is much faster where tiles are read in many ways.
  VerifyOptions one = options;
  one.maxDiagnostics = 1;
  Reporter trial(p, one);
  VerifyResult found = result;
  flow::HintWriter coarsely, exactly;
  coarsely.put(1);
  exactly.put(0);
  flow::Walk walk(p, options, trial, found, true, {hints ? &coarsely : nullptr});
  walk.run();
  const bool again = trial.broken() || walk.lessThanExact();
  if (again)
    flow::Walk(p, options, reporter, result, false, {hints ? &exactly : nullptr}).run();
  else
    result = std::move(found);
  if (hints)
    *hints = std::move(again ? exactly.bytes : coarsely.bytes);
}

void checkFlowWith(const Program &p, std::span<const std::byte> hints, const VerifyOptions &options, Reporter &reporter,
                   VerifyResult &result) {
  flow::HintReader in(hints);
  const bool coarse = in.flag();
  flow::Walk(p, options, reporter, result, coarse, {nullptr, &in}).run();
  if (!reporter.broken() && !in.atEnd())
    in.fail("says more than the program has loops for");
}

} // namespace glia
