// The whole-program part of the verifier.
#include "glia/Verify/Flow.h"
#include "Walk.h"

namespace glia {

void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result) {
  flow::Walk(p, options, reporter, result).run();
}

} // namespace glia
