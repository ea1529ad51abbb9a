// Every function against long double libm: at most 2 ulp over its documented range, exact special values, and the same bits
// on every instruction set, whatever the position in a row.
#include "glia/Numerics/Activation.h"
#include "Numerics/EachTarget.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

using namespace glia;

namespace {

using Real = long double;
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr Real kPi = 3.14159265358979323846264338327950288L;

Real sigmoid(Real x) { return 1 / (1 + expl(-x)); }
Real softplus(Real x) { return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x))); }
Real phi(Real x) { return expl(-x * x / 2) / sqrtl(2 * kPi); }
Real cdf(Real x) { return erfcl(-x / sqrtl(2)) / 2; }
Real siluDx(Real x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }

struct Case {
  const char *name;
  float low, high; // the documented range, cut where the function no longer changes
  Real (*function)(Real);
};
const Case kCases[] = {
    {"square", -1e18f, 1e18f, [](Real x) { return x * x; }},
    {"sigmoid", -120, 120, sigmoid},
    {"gelu", -20, 1e30f, [](Real x) { return x * cdf(x); }},
    {"gelu_dx", -20, 20, [](Real x) { return cdf(x) + x * phi(x); }},
    {"gelu_apprx_tanh", -20, 1e30f, [](Real x) { return x * sigmoid(2 * sqrtl(2 / kPi) * (x + 0.044715L * x * x * x)); }},
    {"gelu_apprx_sigmoid", -70, 1e30f, [](Real x) { return x * sigmoid(1.702L * x); }},
    {"gelu_apprx_sigmoid_dx", -70, 70, [](Real x) { return siluDx(1.702L * x); }},
    {"silu", -120, 1e30f, [](Real x) { return x * sigmoid(x); }},
    {"silu_dx", -120, 120, siluDx},
    {"tanh", -20, 20, [](Real x) { return tanhl(x); }},
    {"softplus", -120, 1e30f, softplus},
    {"mish", -120, 1e30f,
     [](Real x) {
       Real e = expl(x > 60 ? 60 : x), n = e * (e + 2);
       return x * n / (n + 2);
     }},
    {"erf", -20, 20, [](Real x) { return erfl(x); }},
    {"erf_dx", -20, 20, [](Real x) { return 2 / sqrtl(kPi) * expl(-x * x); }},
    {"exp", -110, 88.72f, [](Real x) { return expl(x); }},
    {"log", 0x1p-64f, 0x1p64f, [](Real x) { return logl(x); }},
    {"log", 0x1p-149f, kMax, [](Real x) { return logl(x); }},
    {"sin", -3.1415927f, 3.1415927f, [](Real x) { return sinl(x); }},
    {"arctan", -kMax, kMax, [](Real x) { return atanl(x); }},
    {"sqrt", 0, kMax, [](Real x) { return sqrtl(x); }},
    {"rsqrt", 0x1p-149f, kMax, [](Real x) { return 1 / sqrtl(x); }},
    {"reciprocal", 0x1p-42f, 0x1p42f, [](Real x) { return 1 / x; }},
    {"reciprocal", -0x1p42f, -0x1p-42f, [](Real x) { return 1 / x; }},
};

ActFn function(const char *name) { return static_cast<ActFn>(activationNames().find(name)); }

// Floats in ascending order as integers.
int64_t order(float x) {
  int64_t bits = std::bit_cast<int32_t>(x);
  return bits >= 0 ? bits : INT64_C(-0x80000000) - bits;
}
float fromOrder(int64_t i) { return std::bit_cast<float>(static_cast<int32_t>(i >= 0 ? i : INT64_C(-0x80000000) - i)); }

double ulps(float got, Real want) {
  if (std::isinf(got))
    return fabsl(want) >= static_cast<Real>(kMax) ? 0 : 1e30;
  int exponent = want == 0 ? -149 : std::max(ilogbl(want) - 23, -149);
  return static_cast<double>(fabsl(got - want) / ldexpl(1, exponent));
}

double worstUlps(const Case &c, int64_t first, int64_t last, int64_t step) {
  std::vector<float> in, out;
  for (int64_t i = first; i <= last; i += step)
    in.push_back(fromOrder(i));
  in.push_back(fromOrder(last));
  out.resize(in.size());
  activationRow(function(c.name), in.data(), 1, 0, out.data(), static_cast<int64_t>(in.size()));
  double worst = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    double u = ulps(out[i], c.function(in[i]));
    if (!(u <= worst))
      worst = u;
    if (!(u <= 2)) {
      ADD_FAILURE() << c.name << "(" << in[i] << ") = " << out[i] << ", off by " << u << " ulp";
      break;
    }
  }
  return worst;
}

TEST(Activation, within2Ulp) {
  for (const Case &c : kCases) {
    double worst = worstUlps(c, order(c.low), order(c.high), 4001);
    RecordProperty(c.name, std::to_string(worst));
  }
}

// Where a derivative crosses zero the two terms cancel: every float next to the crossing.
TEST(Activation, within2UlpNextToZeroCrossings) {
  const std::pair<const char *, float> crossings[] = {
      {"gelu_dx", -0.751791524693564f}, {"silu_dx", -1.278464542761074f}, {"gelu_apprx_sigmoid_dx", -0.751154255441319f}};
  for (auto [name, x] : crossings)
    for (const Case &c : kCases)
      if (std::string_view(c.name) == name)
        worstUlps(c, order(x) - 20000, order(x) + 20000, 1);
}

TEST(Activation, specialValues) {
  struct Special {
    const char *name;
    float x, y;
  };
  const Special specials[] = {{"copy", -kInf, -kInf},
                              {"copy", -0.0f, -0.0f},
                              {"square", -kInf, kInf},
                              {"square", 1e30f, kInf},
                              {"sigmoid", -kInf, 0},
                              {"sigmoid", kInf, 1},
                              {"sigmoid", 0, 0.5f},
                              {"relu", -0.0f, 0},
                              {"relu", -kInf, 0},
                              {"relu", kInf, kInf},
                              {"gelu", -kInf, -0.0f},
                              {"gelu", kInf, kInf},
                              {"gelu_dx", -kInf, -0.0f},
                              {"gelu_dx", kInf, 1},
                              {"gelu_apprx_tanh", -kInf, -0.0f},
                              {"gelu_apprx_tanh", kInf, kInf},
                              {"gelu_apprx_sigmoid", -kInf, -0.0f},
                              {"gelu_apprx_sigmoid", kInf, kInf},
                              {"gelu_apprx_sigmoid_dx", -kInf, -0.0f},
                              {"gelu_apprx_sigmoid_dx", kInf, 1},
                              {"silu", -kInf, -0.0f},
                              {"silu", kInf, kInf},
                              {"silu_dx", -kInf, -0.0f},
                              {"silu_dx", kInf, 1},
                              {"tanh", -kInf, -1},
                              {"tanh", kInf, 1},
                              {"tanh", -0.0f, -0.0f},
                              {"tanh", 1e-40f, 1e-40f},
                              {"softplus", -kInf, 0},
                              {"softplus", kInf, kInf},
                              {"mish", -kInf, -0.0f},
                              {"mish", kInf, kInf},
                              {"erf", kInf, 1},
                              {"erf", -kInf, -1},
                              {"erf", -0.0f, -0.0f},
                              {"erf_dx", kInf, 0},
                              {"exp", kInf, kInf},
                              {"exp", -kInf, 0},
                              {"exp", 88.73f, kInf},
                              {"exp", -104, 0},
                              {"exp", 0, 1},
                              {"sign", -0.0f, 0},
                              {"sign", -1e-45f, -1},
                              {"sign", kInf, 1},
                              {"abs", -kInf, kInf},
                              {"abs", -0.0f, 0},
                              {"log", 0, -kInf},
                              {"log", -0.0f, -kInf},
                              {"log", 1, 0},
                              {"log", kInf, kInf},
                              {"log", -1, kNaN},
                              {"log", -kInf, kNaN},
                              {"sin", -0.0f, -0.0f},
                              {"sin", 1e-45f, 1e-45f},
                              {"sin", kInf, kInf},
                              {"arctan", -0.0f, -0.0f},
                              {"arctan", kInf, 1.57079637f},
                              {"sqrt", -0.0f, -0.0f},
                              {"sqrt", -1, kNaN},
                              {"sqrt", kInf, kInf},
                              {"rsqrt", 0, kInf},
                              {"rsqrt", -0.0f, -kInf},
                              {"rsqrt", kInf, 0},
                              {"rsqrt", -1, kNaN},
                              {"reciprocal", 0, kInf},
                              {"reciprocal", -0.0f, -kInf},
                              {"reciprocal", -kInf, -0.0f},
                              {"reciprocal", kMax, 1 / kMax}};
  for (const Special &s : specials)
    EXPECT_EQ(std::bit_cast<uint32_t>(activation(function(s.name), s.x)), std::bit_cast<uint32_t>(s.y))
        << s.name << "(" << s.x << ") = " << activation(function(s.name), s.x);
  for (int f = 0; f < kNumActFns; ++f)
    for (uint32_t nan : {0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFFFFFFFFu})
      EXPECT_EQ(std::bit_cast<uint32_t>(activation(static_cast<ActFn>(f), std::bit_cast<float>(nan))), 0x7FC00000u)
          << activationNames().names[f];
}

TEST(Activation, sinGoesOnAsACubic) {
  EXPECT_NEAR(activation(ActFn::Sin, 9.0f), 27.65f, 0.005f);
  EXPECT_NEAR(activation(ActFn::Sin, -9.0f), -27.65f, 0.005f);
}

TEST(Activation, sameBitsOnEveryTargetAndAtEveryPosition) {
  std::vector<float> in;
  for (int64_t i = order(-kInf) - 3; i <= order(kInf) + 3; i += 999983)
    in.push_back(fromOrder(i));
  for (float special : {0.0f, -0.0f, kInf, -kInf, kNaN, 1.0f, 88.7f, -87.5f, -103.9f, 3.1415927f})
    in.push_back(special);
  const int64_t n = static_cast<int64_t>(in.size());
  for (int f = 0; f < kNumActFns; ++f) {
    std::vector<float> want;
    for (float x : in)
      want.push_back(activation(static_cast<ActFn>(f), x));
    test::onEachTarget([&] {
      std::vector<float> got(in.size());
      activationRow(static_cast<ActFn>(f), in.data(), 1, -0.0f, got.data(), n);
      EXPECT_EQ(std::memcmp(want.data(), got.data(), in.size() * 4), 0) << activationNames().names[f];
    });
  }
}

TEST(Activation, scaleAndBiasAreFused) {
  const float x = 1 + 0x1p-12f, scale = 1 + 0x1p-12f, bias = -1;
  test::onEachTarget([&] {
    float y;
    activationRow(ActFn::Copy, &x, scale, bias, &y, 1);
    EXPECT_EQ(y, std::fma(x, scale, bias));
  });
}

TEST(Activation, rowsOfEveryLengthInPlace) {
  for (int64_t n = 0; n <= 100; ++n) {
    std::vector<float> row(static_cast<size_t>(n) + 1, 2.0f);
    row.back() = 7;
    activationRow(ActFn::Square, row.data(), 1, 1, row.data(), n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(row[static_cast<size_t>(i)], 9.0f);
    ASSERT_EQ(row.back(), 7.0f);
  }
}

} // namespace
