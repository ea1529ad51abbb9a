// Casts against an independent reference: every code of the 8- and 16-bit floats is decoded from its definition, and a value
// must go to the nearest of these numbers, the even code on a tie. Tried on every number, every midpoint and the floats next
// to it. Integers against rint and clip.
#include "glia/Numerics/Convert.h"
#include "Numerics/EachTarget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace glia;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Format {
  DType type;
  int exponentBits, mantissaBits;
  bool hasInfinity; // otherwise only the last code is NaN and overflow gives it
  uint32_t nan;
};
const Format kFormats[] = {{DType::BF16, 8, 7, true, 0x7FC0}, {DType::F16, 5, 10, true, 0x7E00},
                           {DType::F8E4M3, 4, 3, true, 0x7C}, {DType::F8E4M3FN, 4, 3, false, 0x7F},
                           {DType::F8E5M2, 5, 2, true, 0x7E}, {DType::F8E3M4, 3, 4, true, 0x78}};

uint32_t signBit(const Format &f) { return 1u << (f.exponentBits + f.mantissaBits); }
uint32_t firstSpecial(const Format &f) { // the magnitude of infinity, or of the NaN
  return f.hasInfinity ? ((1u << f.exponentBits) - 1) << f.mantissaBits : signBit(f) - 1;
}
double decode(const Format &f, uint32_t magnitude) { // finite codes and the number that would come after the last
  int exponent = static_cast<int>(magnitude >> f.mantissaBits), bias = (1 << (f.exponentBits - 1)) - 1;
  int mantissa = static_cast<int>(magnitude & ((1u << f.mantissaBits) - 1));
  if (exponent == 0)
    return std::ldexp(mantissa, 1 - bias - f.mantissaBits);
  return std::ldexp((1 << f.mantissaBits) + mantissa, exponent - bias - f.mantissaBits);
}
uint32_t store(DType t, float v) {
  uint32_t code = 0;
  fromF32(t, v, &code);
  return code;
}

TEST(Convert, everyNarrowFloatIsDecodedAsDefined) {
  for (const Format &f : kFormats)
    for (uint32_t code = 0; code < 2 * signBit(f); ++code) {
      const uint32_t magnitude = code & (signBit(f) - 1);
      const float got = toF32(f.type, &code);
      if (magnitude < firstSpecial(f))
        ASSERT_EQ(got, static_cast<float>(decode(f, magnitude)) * (code & signBit(f) ? -1 : 1)) << name(f.type) << code;
      else if (f.hasInfinity && magnitude == firstSpecial(f))
        ASSERT_EQ(got, code & signBit(f) ? -kInf : kInf);
      else
        ASSERT_TRUE(std::isnan(got));
      ASSERT_EQ(std::signbit(got), (code & signBit(f)) != 0);
    }
}

TEST(Convert, narrowFloatsRoundToTheNearestEven) {
  for (const Format &f : kFormats)
    for (uint32_t m = 0; m < firstSpecial(f); ++m) {
      const double low = decode(f, m), high = decode(f, m + 1), middle = (low + high) / 2;
      // Past the last number: infinity, or the NaN of a format without infinity.
      const uint32_t up = m + 1 == firstSpecial(f) ? (f.hasInfinity ? m + 1 : f.nan) : m + 1;
      for (float sign : {1.0f, -1.0f}) {
        const uint32_t s = sign < 0 ? signBit(f) : 0;
        const float mid = static_cast<float>(middle);
        ASSERT_EQ(store(f.type, sign * static_cast<float>(low)), s | m) << name(f.type) << m;
        if (mid != middle)
          continue; // bf16 denormals at the end of fp32
        ASSERT_EQ(store(f.type, sign * mid), s | (m % 2 ? up : m)) << name(f.type) << " " << m;
        ASSERT_EQ(store(f.type, sign * std::nextafter(mid, 0.0f)), s | m) << name(f.type) << " " << m;
        ASSERT_EQ(store(f.type, sign * std::nextafter(mid, kInf)), s | up) << name(f.type) << " " << m;
      }
    }
}

TEST(Convert, specialsOfNarrowFloats) {
  for (const Format &f : kFormats) {
    EXPECT_EQ(store(f.type, kInf), f.hasInfinity ? firstSpecial(f) : f.nan);
    EXPECT_EQ(store(f.type, -kInf), signBit(f) | (f.hasInfinity ? firstSpecial(f) : f.nan));
    EXPECT_EQ(store(f.type, std::numeric_limits<float>::max()), f.hasInfinity ? firstSpecial(f) : f.nan);
    EXPECT_EQ(store(f.type, -0.0f), signBit(f));
    EXPECT_EQ(store(f.type, std::bit_cast<float>(0x7F800001u)), f.nan);
    EXPECT_EQ(store(f.type, std::bit_cast<float>(0xFFFFFFFFu)), signBit(f) | f.nan);
  }
}

TEST(Convert, tf32KeepsTenMantissaBits) {
  EXPECT_EQ(roundToTF32(1 + 0x1p-11f), 1.0f);            // a tie: even
  EXPECT_EQ(roundToTF32(1 + 3 * 0x1p-11f), 1 + 0x1p-9f); // a tie: even
  EXPECT_EQ(roundToTF32(1 + 0x1p-11f + 0x1p-23f), 1 + 0x1p-10f);
  EXPECT_EQ(roundToTF32(std::numeric_limits<float>::max()), kInf);
  EXPECT_EQ(roundToTF32(0x1p-149f), 0.0f);
  EXPECT_TRUE(std::isnan(roundToTF32(std::bit_cast<float>(0x7F800001u))));
  EXPECT_EQ(store(DType::TF32, 1 + 0x1p-11f), std::bit_cast<uint32_t>(1.0f));
}

template <class T> void checkInteger(DType t) {
  const long double low = static_cast<long double>(std::numeric_limits<T>::min());
  const long double high = static_cast<long double>(std::numeric_limits<T>::max());
  std::vector<float> values = {0.0f,        -0.0f,      0.5f,       -0.5f, 1.5f,  2.5f,  -1.5f,  -2.5f,
                               0.49999997f, 8388607.5f, 8388609.0f, kInf,  -kInf, 3e38f, -3e38f, 1e-45f};
  for (long double edge : {low, high})
    for (float base : {static_cast<float>(edge), static_cast<float>(edge) + 0.5f, static_cast<float>(edge) - 0.5f})
      for (float v : {base, std::nextafter(base, kInf), std::nextafter(base, -kInf)})
        values.push_back(v);
  if (sizeof(T) <= 2)
    for (long double v = low - 2; v <= high + 2; v += 0.25L)
      values.push_back(static_cast<float>(v));
  for (float v : values) {
    T got;
    fromF32(t, v, &got);
    ASSERT_EQ(got, static_cast<T>(std::clamp(rintl(v), low, high))) << name(t) << " " << v;
  }
  T zero = 1;
  fromF32(t, std::numeric_limits<float>::quiet_NaN(), &zero);
  EXPECT_EQ(zero, T{0});
  for (T v : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{77}})
    EXPECT_EQ(toF32(t, &v), static_cast<float>(v));
}
TEST(Convert, integersRoundAndSaturate) {
  checkInteger<int8_t>(DType::I8);
  checkInteger<uint8_t>(DType::U8);
  checkInteger<int16_t>(DType::I16);
  checkInteger<uint16_t>(DType::U16);
  checkInteger<int32_t>(DType::I32);
  checkInteger<uint32_t>(DType::U32);
  checkInteger<int64_t>(DType::I64);
  checkInteger<uint64_t>(DType::U64);
}

TEST(Convert, rowsEqualElementsAtEveryStride) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1048573)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  const int64_t n = static_cast<int64_t>(values.size());
  test::onEachTarget([&] {
    for (int i = 0; i < kNumDTypes; ++i) {
      const DType t = static_cast<DType>(i);
      for (int64_t stride : {int64_t{sizeOf(t)}, int64_t{sizeOf(t)} * 3}) {
        std::vector<unsigned char> got(static_cast<size_t>(n * stride), 0xAA), want = got;
        storeF32(t, values.data(), got.data(), stride, n);
        for (int64_t k = 0; k < n; ++k)
          fromF32(t, values[static_cast<size_t>(k)], want.data() + k * stride);
        ASSERT_EQ(got, want) << name(t);
        std::vector<float> back(static_cast<size_t>(n));
        loadF32(t, got.data(), stride, back.data(), n);
        for (int64_t k = 0; k < n; ++k)
          ASSERT_EQ(std::bit_cast<uint32_t>(back[static_cast<size_t>(k)]),
                    std::bit_cast<uint32_t>(toF32(t, got.data() + k * stride)))
              << name(t);
      }
    }
  });
}

} // namespace
