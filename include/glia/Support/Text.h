// Small helpers for text that comes from outside: showing it safely, and guessing what was meant.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace glia {

// `s` for a message: control and non-ASCII bytes as \xNN, long text cut.
std::string printable(std::string_view s, size_t longest = 60);
// `s` between two `quote` characters, every byte recoverable: \\ \n \t \xNN and the escaped quote.
std::string quoted(std::string_view s, char quote = '"');
// The candidate that is closest to `wrong`, if it is close enough to be meant; otherwise empty.
std::string_view closest(std::string_view wrong, const std::vector<std::string_view> &candidates);
// "Did you mean `x`?" or `otherwise`.
std::string didYouMean(std::string_view wrong, const std::vector<std::string_view> &candidates, std::string otherwise = {});

} // namespace glia
