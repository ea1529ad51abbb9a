#include "glia/Verify/Verify.h"
#include "glia/Verify/Flow.h"
#include "glia/Verify/StaticRules.h"

namespace glia {

VerifyResult verify(const Program &p, const VerifyOptions &options) {
  VerifyResult result;
  result.instructions = p.instructionCount();
  Reporter reporter(p, options);
  checkStatic(p, reporter);
  if (!reporter.broken()) // the walk relies on what the static rules promise
    checkFlow(p, options, reporter, result);
  result.diagnostics = reporter.take();
  return result;
}

} // namespace glia
