// The analysis of the whole program: order, races, definedness, deadlock, loops, dynamic addresses, barriers.
#pragma once
#include "glia/Verify/Reporter.h"
#include "glia/Verify/Verify.h"

#include <cstddef>
#include <span>
#include <vector>

namespace glia {

// Expects a program that keeps the static rules (StaticRules.h). `hints`, if not null, becomes what was found of its loops.
void checkFlow(const Program &p, const VerifyOptions &options, Reporter &reporter, VerifyResult &result,
               std::vector<std::byte> *hints = nullptr);

// The same without a search: what `hints` say of loops is tried. Throws Error CERTIFICATE-FORMAT.
void checkFlowWith(const Program &p, std::span<const std::byte> hints, const VerifyOptions &options, Reporter &reporter,
                   VerifyResult &result);

} // namespace glia
