// Coefficients of the functions in Math-inl.h, lowest power first. Series are made here from their definition; fitted ones
// say what was fitted, where and how well.
#pragma once
#include <array>
#include <cstddef>

namespace glia::coefficients {

// 1/0!, 1/1!, ...
template <size_t N> constexpr std::array<double, N> exponential() {
  std::array<double, N> c{};
  double factorial = 1;
  for (size_t k = 0; k < N; factorial *= static_cast<double>(++k))
    c[k] = 1 / factorial;
  return c;
}
// sin(x) / x in x^2: 1, -1/3!, 1/5!, ...
template <size_t N> constexpr std::array<double, N> sine() {
  std::array<double, N> c{};
  double factorial = 1;
  for (size_t k = 0; k < N; ++k) {
    c[k] = (k % 2 ? -1 : 1) / factorial;
    factorial *= static_cast<double>((2 * k + 2) * (2 * k + 3));
  }
  return c;
}
// atanh(x) / x in x^2: 1, 1/3, 1/5, ...; atan(x) / x with alternating signs.
template <size_t N> constexpr std::array<double, N> inverseTangent(bool alternating) {
  std::array<double, N> c{};
  for (size_t k = 0; k < N; ++k)
    c[k] = (alternating && k % 2 ? -1 : 1) / static_cast<double>(2 * k + 1);
  return c;
}
// erf(x) / x in x^2: 2/sqrt(pi) (-1)^k / (k! (2k + 1)).
template <size_t N> constexpr std::array<double, N> errorFunction() {
  std::array<double, N> c{};
  double factorial = 1;
  for (size_t k = 0; k < N; factorial *= static_cast<double>(++k))
    c[k] = (k % 2 ? -1 : 1) * 1.1283791670955126 / (factorial * static_cast<double>(2 * k + 1));
  return c;
}

inline constexpr auto kExp = exponential<14>();           // |x| <= ln(2) / 2: 4e-18
inline constexpr auto kSin = sine<15>();                  // |x| <= pi: 4e-18
inline constexpr auto kAtanh = inverseTangent<12>(false); // |x| <= 0.172: 2e-20; |x| <= 1/3: 2e-13
inline constexpr auto kAtan = inverseTangent<16>(true);   // |x| <= 0.4143: 2e-14
inline constexpr auto kErf = errorFunction<12>();         // |x| <= 0.5: 1e-17

// exp(z^2) erfc(z) (1 + 2z) in t = (z - 3.5) / (z + 3.5), interpolated at Chebyshev nodes for 0 <= z <= 30: 1.6e-17.
inline constexpr std::array<double, 23> kErfc = {
    1.2423492448711544,      -0.14000918013761912,    -0.010555596332216245,  0.09751909515322695,
    -0.11508959816032635,    0.087983153825898,       -0.04882332582442635,   0.019099330926987422,
    -0.004215019954106603,   -0.00030226775127552454, 0.0005643847784739863,  -0.00012151303920782786,
    -4.2783982109362694e-05, 2.4262821765980634e-05,  2.3337515462258366e-06, -3.8180219288639385e-06,
    -5.5063791322120124e-08, 6.044373361572526e-07,   5.390434482780358e-09,  -9.58280791795608e-08,
    -8.659046423465625e-09,  1.118453576880973e-08,   2.756053326141917e-09};

// (exp(x) - 1 - x) / x^2 for fp32, minimax in the relative error of exp for |x| <= ln(2) / 2: 3.1e-9.
inline constexpr std::array<float, 5> kExpF32 = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a20p-7f,
                                                 0x1.6a23ccp-10f};

} // namespace glia::coefficients
