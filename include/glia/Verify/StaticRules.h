// Rules that look at declarations and at one instruction at a time. Addresses are taken without their registers; what
// registers add is the business of the flow analysis.
#pragma once
#include "glia/Verify/Reporter.h"

namespace glia {

void checkStatic(const Program &p, Reporter &reporter);

} // namespace glia
