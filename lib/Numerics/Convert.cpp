// Storage formats to fp32 and back, one element at a time (docs/numerics.md).
#include "glia/Numerics/Convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace glia {
namespace {

// A binary float narrower than fp32. `infCode` is the code of +infinity, or of what overflow becomes; `maxCode` the
// largest finite code.
struct Format {
  int mantissaBits, minExponent;   // minExponent: of the smallest normal number
  uint32_t maxCode, infCode, nanCode, signBit;
};
constexpr Format kF16{10, -14, 0x7BFF, 0x7C00, 0x7E00, 0x8000};
constexpr Format kE4M3{3, -6, 0x77, 0x78, 0x7C, 0x80};
constexpr Format kE4M3FN{3, -6, 0x7E, 0x7F, 0x7F, 0x80};
constexpr Format kE5M2{2, -14, 0x7B, 0x7C, 0x7E, 0x80};
constexpr Format kE3M4{4, -2, 0x6F, 0x70, 0x78, 0x80};

float decode(const Format &f, uint32_t code) {
  uint32_t sign = code & f.signBit ? 0x80000000u : 0, mag = code & (f.signBit - 1);
  if (mag > f.maxCode) {
    bool isInf = mag == f.infCode && f.infCode != f.nanCode;
    return std::bit_cast<float>(sign | (isInf ? 0x7F800000u : 0x7FC00000u));
  }
  uint32_t exponent = mag >> f.mantissaBits;
  uint32_t mantissa = mag & ((1u << f.mantissaBits) - 1);
  float v;
  if (exponent == 0)   // a multiple of the smallest denormal, exact in fp32
    v = static_cast<float>(mantissa) *
        std::bit_cast<float>(static_cast<uint32_t>(f.minExponent - f.mantissaBits + 127) << 23);
  else
    v = std::bit_cast<float>(static_cast<uint32_t>(static_cast<int>(exponent) - 1 + f.minExponent + 127) << 23 |
                             mantissa << (23 - f.mantissaBits));
  return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | sign);
}

uint32_t encode(const Format &f, float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), mag = bits & 0x7FFFFFFFu, sign = bits >> 31 ? f.signBit : 0;
  if (mag > 0x7F800000u)
    return sign | f.nanCode;
  uint32_t minNormal = static_cast<uint32_t>(f.minExponent + 127) << 23;
  if (mag < minNormal) {   // adding a number whose last bit is the smallest denormal rounds to it
    uint32_t anchor = static_cast<uint32_t>(f.minExponent - f.mantissaBits + 23 + 127) << 23;
    float sum = std::bit_cast<float>(mag) + std::bit_cast<float>(anchor);
    return sign | (std::bit_cast<uint32_t>(sum) - anchor);
  }
  int shift = 23 - f.mantissaBits;
  uint32_t rounded = mag + ((1u << (shift - 1)) - 1) + (mag >> shift & 1);
  uint32_t code = (rounded - minNormal + (1u << 23)) >> shift;
  return sign | (code > f.maxCode ? f.infCode : code);
}

uint16_t encodeBF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return static_cast<uint16_t>((bits >> 16 & 0x8000u) | 0x7FC0u);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

template <class T> T toInteger(float v) {
  if (std::isnan(v))
    return 0;
  // The bounds as floats: the lower one is exact, the upper one may round up to the first value outside.
  constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float high = static_cast<float>(std::numeric_limits<T>::max());
  float r = std::nearbyint(v);
  if (r <= low)
    return std::numeric_limits<T>::min();
  if (r >= high)
    return std::numeric_limits<T>::max();
  return static_cast<T>(r);
}

template <class T> T get(const void *p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> void put(void *p, T v) { std::memcpy(p, &v, sizeof v); }

} // namespace

float roundToTF32(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return std::bit_cast<float>((bits & 0x80000000u) | 0x7FC00000u);
  return std::bit_cast<float>((bits + 0xFFFu + (bits >> 13 & 1)) & ~0x1FFFu);
}

float toF32(DType t, const void *p) {
  switch (t) {
  case DType::F32:
  case DType::TF32: return get<float>(p);
  case DType::BF16: return std::bit_cast<float>(static_cast<uint32_t>(get<uint16_t>(p)) << 16);
  case DType::F16: return decode(kF16, get<uint16_t>(p));
  case DType::F8E4M3: return decode(kE4M3, get<uint8_t>(p));
  case DType::F8E4M3FN: return decode(kE4M3FN, get<uint8_t>(p));
  case DType::F8E5M2: return decode(kE5M2, get<uint8_t>(p));
  case DType::F8E3M4: return decode(kE3M4, get<uint8_t>(p));
  case DType::I8: return static_cast<float>(get<int8_t>(p));
  case DType::U8: return static_cast<float>(get<uint8_t>(p));
  case DType::I16: return static_cast<float>(get<int16_t>(p));
  case DType::U16: return static_cast<float>(get<uint16_t>(p));
  case DType::I32: return static_cast<float>(get<int32_t>(p));
  case DType::U32: return static_cast<float>(get<uint32_t>(p));
  case DType::I64: return static_cast<float>(get<int64_t>(p));
  case DType::U64: return static_cast<float>(get<uint64_t>(p));
  }
  return 0;
}

void fromF32(DType t, float v, void *p) {
  switch (t) {
  case DType::F32: return put(p, v);
  case DType::TF32: return put(p, roundToTF32(v));
  case DType::BF16: return put(p, encodeBF16(v));
  case DType::F16: return put(p, static_cast<uint16_t>(encode(kF16, v)));
  case DType::F8E4M3: return put(p, static_cast<uint8_t>(encode(kE4M3, v)));
  case DType::F8E4M3FN: return put(p, static_cast<uint8_t>(encode(kE4M3FN, v)));
  case DType::F8E5M2: return put(p, static_cast<uint8_t>(encode(kE5M2, v)));
  case DType::F8E3M4: return put(p, static_cast<uint8_t>(encode(kE3M4, v)));
  case DType::I8: return put(p, toInteger<int8_t>(v));
  case DType::U8: return put(p, toInteger<uint8_t>(v));
  case DType::I16: return put(p, toInteger<int16_t>(v));
  case DType::U16: return put(p, toInteger<uint16_t>(v));
  case DType::I32: return put(p, toInteger<int32_t>(v));
  case DType::U32: return put(p, toInteger<uint32_t>(v));
  case DType::I64: return put(p, toInteger<int64_t>(v));
  case DType::U64: return put(p, toInteger<uint64_t>(v));
  }
}

void loadF32(DType t, const void *src, int64_t stride, float *dst, int64_t n) {
  auto *p = static_cast<const char *>(src);
  for (int64_t i = 0; i < n; ++i)
    dst[i] = toF32(t, p + i * stride);
}

void storeF32(DType t, const float *src, void *dst, int64_t stride, int64_t n) {
  auto *p = static_cast<char *>(dst);
  for (int64_t i = 0; i < n; ++i)
    fromF32(t, src[i], p + i * stride);
}

} // namespace glia
