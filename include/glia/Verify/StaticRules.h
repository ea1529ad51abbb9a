// Rules that look at declarations and at one instruction at a time. Addresses are taken without their registers; what
// registers add is the business of the flow analysis.
#pragma once
#include "glia/Verify/Reporter.h"

namespace glia {

void checkStatic(const Program &p, Reporter &reporter);
// The part of it that looks at instructions alone: declarations, and whether allocations meet or fit, are left out.
void checkInstructions(const Program &p, Reporter &reporter);

// Rule ENGINE-REACH: whether the engine reads (or writes) that memory when it computes.
bool engineReaches(Engine e, Space s, bool writes);

// Rule PARTITION-START: an engine operand of this many partitions starts at a multiple of the result.
int partitionStep(int partitions);

} // namespace glia
