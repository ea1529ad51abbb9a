// Element types: the table, rounding, and storage.
#include "glia/Interpret/Element.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace glia {

namespace {

using I = ElementInfo;
constexpr ElementInfo kElements[] = {
    {"i1", I::Pred, 1, 1},
    {"i2", I::Signed, 2, 1},
    {"i4", I::Signed, 4, 1},
    {"i8", I::Signed, 8, 1},
    {"i16", I::Signed, 16, 2},
    {"i32", I::Signed, 32, 4},
    {"i64", I::Signed, 64, 8},
    {"ui2", I::Unsigned, 2, 1},
    {"ui4", I::Unsigned, 4, 1},
    {"ui8", I::Unsigned, 8, 1},
    {"ui16", I::Unsigned, 16, 2},
    {"ui32", I::Unsigned, 32, 4},
    {"ui64", I::Unsigned, 64, 8},
    {"f4E2M1FN", I::Float, 4, 1, 2, 1, 1, I::Finite, 6},
    {"f6E2M3FN", I::Float, 6, 1, 2, 3, 1, I::Finite, 7.5},
    {"f6E3M2FN", I::Float, 6, 1, 3, 2, 3, I::Finite, 28},
    {"f8E3M4", I::Float, 8, 1, 3, 4, 3, I::Ieee, 15.5},
    {"f8E4M3", I::Float, 8, 1, 4, 3, 7, I::Ieee, 240},
    {"f8E4M3FN", I::Float, 8, 1, 4, 3, 7, I::Nan, 448},
    {"f8E4M3FNUZ", I::Float, 8, 1, 4, 3, 8, I::NanAtMinusZero, 240},
    {"f8E4M3B11FNUZ", I::Float, 8, 1, 4, 3, 11, I::NanAtMinusZero, 30},
    {"f8E5M2", I::Float, 8, 1, 5, 2, 15, I::Ieee, 57344},
    {"f8E5M2FNUZ", I::Float, 8, 1, 5, 2, 16, I::NanAtMinusZero, 57344},
    {"bf16", I::Float, 16, 2, 8, 7, 127, I::Ieee, 0x1.FEp127},
    {"f16", I::Float, 16, 2, 5, 10, 15, I::Ieee, 65504},
    {"f32", I::Float, 32, 4, 8, 23, 127, I::Ieee, 0x1.FFFFFEp127},
    {"f64", I::Float, 64, 8, 11, 52, 1023, I::Ieee, 0x1.FFFFFFFFFFFFFp1023},
    {"token", I::None, 0, 0},
    {"tuple", I::None, 0, 0},
    {"complex<f32>", I::None, 0, 0},
    {"complex<f64>", I::None, 0, 0},
};
static_assert(std::size(kElements) == static_cast<size_t>(Element::Complex128) + 1);

constexpr uint64_t kSign = uint64_t{1} << 63;

double powerOfTwo(int e) {
  return e > -1023 && e < 1024 ? std::bit_cast<double>(static_cast<uint64_t>(1023 + e) << 52) : std::ldexp(1.0, e);
}

// Bits of a narrow float (up to f32) to the bits of a double; the payload of a NaN stays.
Word widen(const ElementInfo &t, uint64_t bits) {
  const int m = t.mantissaBits;
  const uint64_t magnitude = bits & ((uint64_t{1} << (t.bits - 1)) - 1), sign = bits >> (t.bits - 1) ? kSign : 0;
  const uint64_t exponent = magnitude >> m, mantissa = magnitude & ((uint64_t{1} << m) - 1);
  const uint64_t top = (uint64_t{1} << t.exponentBits) - 1;
  constexpr uint64_t infinity = uint64_t{0x7FF} << 52, nan = uint64_t{0x7FF8} << 48;
  if (t.specials == I::Ieee && exponent == top)
    return sign | infinity | mantissa << (52 - m);
  if (t.specials == I::Nan && magnitude == (uint64_t{1} << (t.bits - 1)) - 1)
    return sign | nan;
  if (t.specials == I::NanAtMinusZero && sign && magnitude == 0)
    return nan;
  if (exponent == 0)
    return sign | std::bit_cast<Word>(static_cast<double>(mantissa) * powerOfTwo(1 - t.bias - m));
  return sign | (exponent - t.bias + 1023) << 52 | mantissa << (52 - m);
}

// The inverse, of a value that the type can hold.
uint64_t narrow(const ElementInfo &t, Word word) {
  const int m = t.mantissaBits;
  const uint64_t signBit = uint64_t{1} << (t.bits - 1), sign = word & kSign ? signBit : 0;
  const double x = std::bit_cast<double>(word), size = std::fabs(x);
  const uint64_t top = ((uint64_t{1} << t.exponentBits) - 1) << m;
  if (std::isnan(x)) {
    if (t.specials == I::NanAtMinusZero)
      return signBit;
    if (t.specials == I::Nan)
      return sign | (signBit - 1);
    if (t.specials == I::Finite)
      return signBit; // what x86 and ml_dtypes make of it
    const uint64_t payload = (word & ((uint64_t{1} << 52) - 1)) >> (52 - m);
    return sign | top | (payload ? payload : uint64_t{1} << (m - 1));
  }
  if (std::isinf(x))
    return t.specials == I::Ieee ? sign | top : narrow(t, std::bit_cast<Word>(roundTo(t, x)));
  if (size < powerOfTwo(1 - t.bias)) { // subnormal or zero
    const auto mantissa = static_cast<uint64_t>(size * powerOfTwo(t.bias - 1) * powerOfTwo(m));
    return mantissa == 0 && t.specials == I::NanAtMinusZero ? 0 : sign | mantissa;
  }
  const uint64_t bits = word & ~kSign;
  return sign | (((bits >> 52) - 1023 + t.bias) << m) | (bits & ((uint64_t{1} << 52) - 1)) >> (52 - m);
}

template <class Int> void decodeInts(const std::byte *bytes, Word *words, size_t count, uint64_t mask) {
  for (size_t i = 0; i < count; ++i) {
    Int v;
    std::memcpy(&v, bytes + i * sizeof(Int), sizeof(Int));
    words[i] = static_cast<Word>(static_cast<int64_t>(v)) & mask;
  }
}
template <class Int> void encodeInts(const Word *words, std::byte *bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Int v = static_cast<Int>(words[i]);
    std::memcpy(bytes + i * sizeof(Int), &v, sizeof(Int));
  }
}

} // namespace

const ElementInfo &info(Element e) { return kElements[static_cast<size_t>(e)]; }

std::optional<Element> parseElement(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Element::Token); ++i)
    if (kElements[i].name == name)
      return static_cast<Element>(i);
  return std::nullopt;
}

double roundTo(const ElementInfo &t, double x) {
  if (t.mantissaBits == 52)
    return x;
  if (t.mantissaBits == 23)
    return static_cast<float>(x);
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  const int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  double r = x;
  if (exponent < 1024) { // finite: whole units of the last place, which is that of the smallest normal below it
    const int unit = std::max(exponent, 1 - t.bias) - t.mantissaBits;
    constexpr double kWhole = 0x1.8p52; // adding it leaves no room for a fraction
    if (exponent < unit - 1)
      r = std::copysign(0.0, x);
    else
      r = std::copysign(((x * powerOfTwo(-unit)) + kWhole - kWhole) * powerOfTwo(unit), x);
  }
  if (std::fabs(r) > t.largest) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    r = t.specials == I::Ieee     ? std::copysign(kInfinity, r)
        : t.specials == I::Finite ? std::copysign(t.largest, r)
                                  : std::numeric_limits<double>::quiet_NaN();
  }
  return r == 0 && t.specials == I::NanAtMinusZero ? 0.0 : r;
}

void decode(Element e, const std::byte *bytes, Word *words, size_t count) {
  const ElementInfo &t = info(e);
  constexpr uint64_t all = ~uint64_t{0};
  if (t.kind == I::Float && t.bits < 64) {
    decodeInts<uint8_t>(bytes, words, t.bytes == 1 ? count : 0, all);
    decodeInts<uint16_t>(bytes, words, t.bytes == 2 ? count : 0, all);
    decodeInts<uint32_t>(bytes, words, t.bytes == 4 ? count : 0, all);
    const uint64_t mask = (uint64_t{1} << t.bits) - 1;
    for (size_t i = 0; i < count; ++i) {
      const float f = std::bit_cast<float>(static_cast<uint32_t>(words[i]));
      const bool direct = t.bits == 32 && f == f; // the host's own conversion would change a signalling NaN
      words[i] = direct ? std::bit_cast<Word>(static_cast<double>(f)) : widen(t, words[i] & mask);
    }
    return;
  }
  const bool isSigned = t.kind == I::Signed;
  if (t.bytes == 8)
    std::copy_n(reinterpret_cast<const std::byte *>(bytes), count * 8, reinterpret_cast<std::byte *>(words));
  else if (t.bytes == 4)
    isSigned ? decodeInts<int32_t>(bytes, words, count, all) : decodeInts<uint32_t>(bytes, words, count, all);
  else if (t.bytes == 2)
    isSigned ? decodeInts<int16_t>(bytes, words, count, all) : decodeInts<uint16_t>(bytes, words, count, all);
  else if (t.bytes == 1)
    isSigned ? decodeInts<int8_t>(bytes, words, count, all) : decodeInts<uint8_t>(bytes, words, count, all);
  if (t.bits < 8) { // one byte holds a narrower one: only its own bits count
    const int shift = 64 - t.bits;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t up = words[i] << shift;
      words[i] = t.kind == I::Pred ? words[i] != 0
                 : isSigned        ? static_cast<Word>(static_cast<int64_t>(up) >> shift)
                                   : up >> shift;
    }
  }
}

void encode(Element e, const Word *words, std::byte *bytes, size_t count) {
  const ElementInfo &t = info(e);
  if (t.bytes == 8) {
    std::copy_n(reinterpret_cast<const std::byte *>(words), count * 8, reinterpret_cast<std::byte *>(bytes));
    return;
  }
  if (t.kind == I::Float) {
    for (size_t i = 0; i < count; ++i) {
      const double x = std::bit_cast<double>(words[i]);
      const uint64_t bits = t.bits == 32 && x == x ? std::bit_cast<uint32_t>(static_cast<float>(x)) : narrow(t, words[i]);
      std::memcpy(bytes + i * t.bytes, &bits, t.bytes); // little-endian hosts
    }
    return;
  }
  if (t.bytes == 4)
    encodeInts<uint32_t>(words, bytes, count);
  else if (t.bytes == 2)
    encodeInts<uint16_t>(words, bytes, count);
  else if (t.bytes == 1)
    encodeInts<uint8_t>(words, bytes, count);
}

double numberOf(Element e, Word w) {
  return isFloat(e)                              ? std::bit_cast<double>(w)
         : info(e).kind == ElementInfo::Unsigned ? static_cast<double>(w)
                                                 : static_cast<double>(static_cast<int64_t>(w));
}

std::string textOf(Element e, Word w) {
  if (isFloat(e) && std::isnan(std::bit_cast<double>(w)))
    return "nan"; // whatever its sign
  if (isFloat(e))
    return format("%.7g", std::bit_cast<double>(w));
  return info(e).kind == ElementInfo::Unsigned ? std::to_string(w) : std::to_string(static_cast<int64_t>(w));
}

} // namespace glia
