// Types of the hardware that glia knows and does not implement yet.
#pragma once
#include <string_view>

namespace glia {

// The reason; empty if `name` is not one of them.
std::string_view refusedDType(std::string_view name);

} // namespace glia
