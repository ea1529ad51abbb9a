// What the compiler did to a kernel, in words for its author: items of a program's contract with this key.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace glia {

class Program;

inline constexpr std::string_view kRemarkKey = "did";
std::vector<std::string> remarksOf(const Program &p);

} // namespace glia
