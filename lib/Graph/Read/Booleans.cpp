#include "Booleans.h"

#include <cstdint>

namespace glia::graph {

static bool take(std::string_view &s, std::string_view word) {
  if (!s.starts_with(word))
    return false;
  s.remove_prefix(word.size());
  return true;
}

static void skipSpaces(std::string_view &s) { s.remove_prefix(std::min(s.find_first_not_of(" \t\r\n"), s.size())); }

// The number of elements when `s`, which follows the closing quote, says that the constant is of i1; else 0.
static uint64_t booleans(std::string_view s) {
  skipSpaces(s);
  if (!take(s, ">"))
    return 0;
  skipSpaces(s);
  if (!take(s, ":"))
    return 0;
  skipSpaces(s);
  if (!take(s, "tensor<"))
    return 0;
  uint64_t n = 1;
  while (!s.empty() && s[0] >= '0' && s[0] <= '9') {
    uint64_t dim = 0;
    for (; !s.empty() && s[0] >= '0' && s[0] <= '9' && dim < (uint64_t(1) << 40); s.remove_prefix(1))
      dim = 10 * dim + (s[0] - '0');
    if (__builtin_mul_overflow(n, dim, &n) || !take(s, "x"))
      return 0;
  }
  return take(s, "i1>") ? n : 0;
}

static constexpr std::string_view kHead = "dense<\"0x";

std::optional<std::string> packBooleans(std::string_view text) {
  std::optional<std::string> out;
  for (size_t at = text.find(kHead); at != text.npos; at = text.find(kHead, at)) {
    at += kHead.size();
    const size_t end = text.find('"', at);
    if (end == text.npos)
      break;
    const std::string_view digits = text.substr(at, end - at);
    const uint64_t n = booleans(text.substr(end + 1));
    if (n < 2 || digits.size() != 2 * n)
      continue;
    std::string packed((n + 7) / 8 * 2, '0');
    bool sound = true;
    for (uint64_t i = 0; i < n && sound; ++i) {
      const char bit = digits[2 * i + 1];
      sound = digits[2 * i] == '0' && (bit == '0' || bit == '1');
      if (bit == '1') { // the first element is the lowest bit of its byte; a byte is written high digit first
        char &digit = packed[i / 8 * 2 + (i % 8 < 4)];
        const int value = (digit <= '9' ? digit - '0' : digit - 'A' + 10) | 1 << i % 4;
        digit = "0123456789ABCDEF"[value];
      }
    }
    if (!sound)
      continue;
    if (!out)
      out.emplace(text);
    // "0xFF  ...  " > : the string gets shorter, and spaces after it keep what follows in its place.
    packed += '"';
    packed.resize(digits.size() + 1, ' ');
    out->replace(at, packed.size(), packed);
  }
  return out;
}

} // namespace glia::graph
