// What the compiler did to a kernel, in words for its author: items of a program's contract with this key.
#pragma once
#include <string_view>

namespace glia {

inline constexpr std::string_view kRemarkKey = "did";

} // namespace glia
