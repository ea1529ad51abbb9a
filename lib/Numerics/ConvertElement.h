// One element of each storage format to fp32 and back. Written without branches, so that compilers turn a loop over them
// into vector code.
#pragma once
#include "glia/Support/DType.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

namespace glia::element {

// A binary float narrower than fp32. `overflow` is the code of +infinity, or of the NaN where there is none; `max` the
// largest finite code; minExponent belongs to the smallest normal number.
struct Format {
  int mantissaBits, minExponent;
  uint32_t max, overflow, nan, signBit;
};
inline constexpr Format kF16{10, -14, 0x7BFF, 0x7C00, 0x7E00, 0x8000};
inline constexpr Format kE4M3{3, -6, 0x77, 0x78, 0x7C, 0x80};
inline constexpr Format kE4M3FN{3, -6, 0x7E, 0x7F, 0x7F, 0x80};
inline constexpr Format kE5M2{2, -14, 0x7B, 0x7C, 0x7E, 0x80};
inline constexpr Format kE3M4{4, -2, 0x6F, 0x70, 0x78, 0x80};

constexpr uint32_t powerOfTwo(int exponent) { return static_cast<uint32_t>(exponent + 127) << 23; } // its fp32 bits

template <const Format &F> struct Narrow {
  static float load(uint32_t code) {
    const uint32_t sign = code & F.signBit ? 0x80000000u : 0, mag = code & (F.signBit - 1);
    // Below the smallest normal number: a multiple of the smallest denormal, exact in fp32.
    const float multiple = static_cast<float>(static_cast<int32_t>(mag));
    const uint32_t small =
        std::bit_cast<uint32_t>(multiple * std::bit_cast<float>(powerOfTwo(F.minExponent - F.mantissaBits)));
    const uint32_t normal = (mag << (23 - F.mantissaBits)) + powerOfTwo(F.minExponent) - (1u << 23);
    const uint32_t special = mag == F.overflow && F.overflow != F.nan ? 0x7F800000u : 0x7FC00000u;
    const uint32_t finite = mag >> F.mantissaBits ? normal : small;
    return std::bit_cast<float>(sign | (mag > F.max ? special : finite));
  }
  static uint32_t store(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), mag = bits & 0x7FFFFFFFu, sign = bits >> 31 ? F.signBit : 0;
    constexpr uint32_t minNormal = powerOfTwo(F.minExponent), anchor = powerOfTwo(F.minExponent - F.mantissaBits + 23);
    constexpr int shift = 23 - F.mantissaBits;
    // Adding a number whose last bit is the smallest denormal rounds to it.
    const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(mag) + std::bit_cast<float>(anchor)) - anchor;
    const uint32_t rounded = mag + ((1u << (shift - 1)) - 1) + (mag >> shift & 1);
    const uint32_t normal = (rounded - minNormal + (1u << 23)) >> shift;
    const uint32_t finite = mag < minNormal ? small : normal > F.max ? F.overflow : normal;
    return sign | (mag > 0x7F800000u ? F.nan : finite);
  }
};

struct BFloat {
  static float load(uint32_t code) { return std::bit_cast<float>(code << 16); }
  static uint32_t store(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7FFFFFFFu) > 0x7F800000u ? (bits >> 16 & 0x8000u) | 0x7FC0u : rounded;
  }
};

inline float roundTF32(float v) {
  const uint32_t bits = std::bit_cast<uint32_t>(v), rounded = (bits + 0xFFFu + (bits >> 13 & 1)) & ~0x1FFFu;
  const bool isNaN = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return std::bit_cast<float>(isNaN ? (bits & 0x80000000u) | 0x7FC00000u : rounded);
}

// To the nearest integer, ties to even: beyond 2^23 fp32 numbers are integers, below the addition rounds.
inline float nearest(float v) {
  const float mag = std::bit_cast<float>(std::bit_cast<uint32_t>(v) & 0x7FFFFFFFu), r = (mag + 0x1p23f) - 0x1p23f;
  const float signedR = std::bit_cast<float>(std::bit_cast<uint32_t>(r) | (std::bit_cast<uint32_t>(v) & 0x80000000u));
  return mag < 0x1p23f ? signedR : v;
}
template <class T> T toInteger(float v) {
  // The bounds as floats; the upper one may round up to the first value outside, `inside` is the last one that fits.
  constexpr float low = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float high = static_cast<float>(std::numeric_limits<T>::max());
  constexpr float inside = sizeof(T) < 4 ? high : std::bit_cast<float>(std::bit_cast<uint32_t>(high) - 1);
  const float r = nearest(v == v ? v : 0.0f);
  const float clamped = r < low ? low : r > inside ? inside : r;
  return r >= high ? std::numeric_limits<T>::max() : static_cast<T>(clamped);
}

// How each type lies in memory (Storage) and what its value is.
template <DType T> struct Element;
#define GLIA_ELEMENT(type, storage, loadExpr, storeExpr)                                                                    \
  template <> struct Element<DType::type> {                                                                                 \
    using Storage = storage;                                                                                                \
    static float load(Storage s) { return loadExpr; }                                                                       \
    static Storage store(float v) { return static_cast<Storage>(storeExpr); }                                               \
  };
GLIA_ELEMENT(F32, float, s, v)
GLIA_ELEMENT(TF32, float, s, roundTF32(v))
GLIA_ELEMENT(BF16, uint16_t, BFloat::load(s), BFloat::store(v))
GLIA_ELEMENT(F16, uint16_t, Narrow<kF16>::load(s), Narrow<kF16>::store(v))
GLIA_ELEMENT(F8E4M3, uint8_t, Narrow<kE4M3>::load(s), Narrow<kE4M3>::store(v))
GLIA_ELEMENT(F8E4M3FN, uint8_t, Narrow<kE4M3FN>::load(s), Narrow<kE4M3FN>::store(v))
GLIA_ELEMENT(F8E5M2, uint8_t, Narrow<kE5M2>::load(s), Narrow<kE5M2>::store(v))
GLIA_ELEMENT(F8E3M4, uint8_t, Narrow<kE3M4>::load(s), Narrow<kE3M4>::store(v))
GLIA_ELEMENT(I8, int8_t, static_cast<float>(s), toInteger<int8_t>(v))
GLIA_ELEMENT(U8, uint8_t, static_cast<float>(s), toInteger<uint8_t>(v))
GLIA_ELEMENT(I16, int16_t, static_cast<float>(s), toInteger<int16_t>(v))
GLIA_ELEMENT(U16, uint16_t, static_cast<float>(s), toInteger<uint16_t>(v))
GLIA_ELEMENT(I32, int32_t, static_cast<float>(s), toInteger<int32_t>(v))
GLIA_ELEMENT(U32, uint32_t, static_cast<float>(s), toInteger<uint32_t>(v))
GLIA_ELEMENT(I64, int64_t, static_cast<float>(s), toInteger<int64_t>(v))
GLIA_ELEMENT(U64, uint64_t, static_cast<float>(s), toInteger<uint64_t>(v))
#undef GLIA_ELEMENT

} // namespace glia::element
