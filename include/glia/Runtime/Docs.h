// Pages and JSON made from the data: rules, instructions, targets. `glia rules`, `glia isa`, `glia targets`, the Python
// package and the generated files of docs/ use these.
#pragma once
#include "glia/Target/Target.h"

#include <string>
#include <string_view>

namespace glia {

std::string rulesMarkdown(); // docs/rules.md
std::string rulesJson();
// What `glia explain ID` prints: rule, source, advice and both programs. Throws Error RULE-UNKNOWN.
std::string explainRule(std::string_view id);

std::string isaMarkdown(); // docs/isa.md
std::string isaJson();

std::string targetsJson();               // all built-in targets
std::string targetJson(const Target &t); // one, with the origin and source of every value

} // namespace glia
