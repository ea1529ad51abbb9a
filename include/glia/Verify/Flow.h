// The analysis of the whole program: order, races, definedness, deadlock, loops, dynamic addresses, barriers.
#pragma once
#include "glia/Verify/Reporter.h"
#include "glia/Verify/Verify.h"

namespace glia {

// Expects a program that keeps the static rules (StaticRules.h).
void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result);

} // namespace glia
