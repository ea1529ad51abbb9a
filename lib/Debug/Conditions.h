// Conditions of breakpoints: `A == B and C > D`.
#pragma once
#include <functional>
#include <string_view>

namespace glia::debug {

using Number = std::function<double(std::string_view)>; // what a side of a comparison is
// Throws Error DEBUG-VALUE, and what `number` throws.
bool holds(std::string_view condition, const Number &number);

} // namespace glia::debug
