// The TOML parser, with its internal assumptions checked. toml++ asserts some of what it reads (`x = [[}` breaks one) and, without
// assertions, tells the compiler to rely on it; here a broken assumption is an exception, in every build. Include this and never
// toml++ itself: all files must see the same parser.
#pragma once
#include <cassert>

namespace glia {
struct TomlAssumption {};
constexpr void tomlAssume(bool holds) {
  if (!holds)
    throw TomlAssumption{};
}
} // namespace glia

#define TOML_ASSERT(expr) ::glia::tomlAssume(static_cast<bool>(expr))
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
#include <cassert>
