#include "AsmConstant.h"
#include "glia/Numerics/Convert.h"

#include <charconv>
#include <cstring>

namespace glia {

static int hexDigit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void appendInteger(AsmCursor &c, DType t, std::vector<std::byte> &out) {
  const int bits = 8 * sizeOf(t);
  const size_t at = c.place();
  const int64_t v = c.integer("a value"); // u64 above 2^63 - 1 is written in hex
  const int64_t hi = bits == 64 ? INT64_MAX : info(t).isSigned ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  const int64_t lo = info(t).isSigned ? -hi - 1 : 0;
  if (v < lo || v > hi)
    c.fail("ASM-OPERAND", format("%lld does not fit %s", (long long)v, std::string(name(t)).c_str()), "", at);
  const std::byte *p = reinterpret_cast<const std::byte *>(&v);
  out.insert(out.end(), p, p + sizeOf(t));
}

std::vector<std::byte> parseConstant(AsmCursor &c, DType t, int64_t elements) {
  std::vector<std::byte> out;
  const size_t at = c.place();
  if (c.eat("hex")) {
    const std::string digits = c.textLiteral("hex digits");
    for (size_t i = 0; i < digits.size(); i += 2) {
      const int high = hexDigit(digits[i]), low = i + 1 < digits.size() ? hexDigit(digits[i + 1]) : -1;
      if (high < 0 || low < 0)
        c.fail("ASM-SYNTAX", format("hex digit %zu is missing or no hex digit", i),
               "Bytes are two hex digits each, without blanks.", at);
      out.push_back(static_cast<std::byte>(high * 16 + low));
    }
  } else {
    c.expect('[', "before the values (or hex\"...\")");
    if (!c.eat(']')) {
      do {
        if (isInteger(t)) {
          appendInteger(c, t, out);
        } else {
          std::byte element[8] = {};
          fromF32(t, c.number("a value"), element);
          out.insert(out.end(), element, element + sizeOf(t));
        }
      } while (c.eat(',') && c.peek() != ']');
      c.expect(']', "after the values");
    }
  }
  const int64_t got = static_cast<int64_t>(out.size()), need = elements * sizeOf(t);
  if (got != need)
    c.fail("ASM-OPERAND",
           format("the constant has %lld bytes of values and its shape needs %lld", (long long)got, (long long)need), "",
           at);
  return out;
}

std::string printConstant(DType t, std::span<const std::byte> data) {
  const size_t size = sizeOf(t), n = data.size() / size;
  if (isInteger(t) && n <= 64 && t != DType::U64) {
    std::string out = "[";
    for (size_t i = 0; i < n; ++i) {
      int64_t v = 0;
      std::memcpy(&v, data.data() + i * size, size);
      if (info(t).isSigned && size < 8)
        v = v << (64 - 8 * size) >> (64 - 8 * size);
      out += (i ? ", " : "") + std::to_string(v);
    }
    return out + "]";
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "hex\"";
  out.reserve(out.size() + 2 * data.size() + 1);
  for (std::byte x : data) {
    out += kDigits[static_cast<unsigned>(x) >> 4];
    out += kDigits[static_cast<unsigned>(x) & 15];
  }
  return out + "\"";
}

} // namespace glia
