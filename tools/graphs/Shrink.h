// Makes a failing graph smaller: results and operations are left out as long as it fails in the same way.
#pragma once
#include "Check.h"

namespace glia::graphs {

std::string shrink(const std::string &text, const std::string &target, const Verdict &verdict, int attempts);

} // namespace glia::graphs
