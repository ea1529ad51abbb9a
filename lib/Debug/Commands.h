// How the prompts of debuggers read what is typed: names of commands, which may be shortened, counts, steps.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace glia::debug {

using Short = std::pair<std::string_view, std::string_view>; // what may be typed for what
// Throws Error DEBUG-COMMAND if nothing is called so, or several are.
std::string_view commandNamed(std::string_view given, std::span<const std::string_view> commands,
                              std::span<const Short> shorts);
// 1 if nothing is given. Throws Error DEBUG-COMMAND.
uint64_t countOf(std::string_view text);
// "3" (steps back) or "to 120", as a step that lies behind `now`. Throws Error DEBUG-COMMAND or DEBUG-PLACE.
uint64_t stepBehind(std::string_view text, uint64_t now);

} // namespace glia::debug
