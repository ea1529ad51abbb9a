// Functions that the C library does not have: series and asymptotic expansions in double, far from the limits of f32.
#include "Interpret/Pointwise.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace glia::interp {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

double lgammaOf(double x) {
#if defined(__GLIBC__)
  int sign; // the plain function writes a global
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

double digamma(double x) {
  if (x == 0 || (x < 0 && x == std::floor(x)))
    return kNan;
  if (x < 0) // reflection
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::floor(x)));
  double r = 0;
  while (x < 10) {
    r -= 1 / x;
    x += 1;
  }
  const double s = 1 / (x * x);
  return r + std::log(x) - 0.5 / x -
         s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * 691.0 / 32760)))));
}

// Hurwitz zeta by Euler-Maclaurin summation.
double zeta(double s, double q) {
  if (s == 1)
    return kInfinity;
  if (s < 1)
    return kNan;
  if (q <= 0) {
    if (q == std::floor(q))
      return kInfinity;
    if (s != std::floor(s))
      return kNan;
  }
  constexpr int kTerms = 12;
  // B(2k) / (2k)!
  constexpr double kBernoulli[] = {1.0 / 12,
                                   -1.0 / 720,
                                   1.0 / 30240,
                                   -1.0 / 1209600,
                                   1.0 / 47900160,
                                   -691.0 / 1307674368000.0,
                                   1.0 / 74724249600.0,
                                   -3617.0 / 10670622842880000.0};
  double sum = 0, a = q;
  for (int k = 0; k < kTerms || a < 10; ++k) {
    const double term = std::pow(a, -s);
    sum += term;
    if (std::fabs(term) < std::fabs(sum) * 1e-18 && a > 0)
      return sum;
    a += 1;
  }
  sum += std::pow(a, 1 - s) / (s - 1) + 0.5 * std::pow(a, -s);
  double factor = s, power = std::pow(a, -s - 1);
  for (int k = 0; k < 8; ++k) {
    sum += kBernoulli[k] * factor * power;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2);
    power /= a * a;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (n != std::floor(n) || n < 0)
    return kNan;
  if (n == 0)
    return digamma(x);
  const double size = std::exp(lgammaOf(n + 1)) * zeta(n + 1, x);
  return std::fmod(n, 2) == 1 ? size : -size;
}

// A rational first guess by the logarithm, then Newton with the derivative 2/sqrt(pi) exp(-y^2), on erfc near the ends.
double erfInv(double x) {
  if (std::isnan(x) || std::fabs(x) > 1)
    return kNan;
  if (std::fabs(x) == 1)
    return std::copysign(kInfinity, x);
  if (x == 0)
    return x;
  const double size = std::fabs(x), a = 0.147, l = std::log1p(-size * size), b = 2 / (std::numbers::pi * a) + l / 2;
  double y = std::sqrt(std::sqrt(b * b - l / a) - b);
  for (int i = 0; i < 4; ++i) {
    const double error = size < 0.5 ? std::erf(y) - size : (1 - size) - std::erfc(y);
    const double step = error / (2 / std::sqrt(std::numbers::pi) * std::exp(-y * y));
    y -= step / (1 + y * step); // Halley
  }
  return std::copysign(y, x);
}

// exp(-|x|) I1(x): the power series up to 30, then the asymptotic one.
double besselI1e(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x))
    return x;
  if (std::isinf(x))
    return std::copysign(0.0, x);
  double sum;
  if (a < 30) {
    double term = a / 2;
    sum = 0;
    for (int k = 1; term > sum * 1e-18 && k < 500; ++k) {
      sum += term;
      term *= a * a / 4 / (static_cast<double>(k) * (k + 1));
    }
    sum *= std::exp(-a);
  } else {
    double term = 1;
    sum = 0;
    for (int k = 1; k < 30 && std::fabs(term) > 1e-18; ++k) {
      sum += term;
      const double odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (k * 8 * a);
    }
    sum /= std::sqrt(2 * std::numbers::pi * a);
  }
  return std::copysign(sum, x);
}

// The neighbour in the element type, through its storage: magnitudes are ordered as integers.
void nextAfter(const Pointwise &op, const Word *const *in, Word *out, int64_t n) {
  const Element e = op.inDouble ? Element::F64 : op.from;
  const int bits = info(e).bits;
  for (int64_t i = 0; i < n; ++i) {
    const double x = asDouble(in[0][i]), y = asDouble(in[1][i]);
    if (std::isnan(x) || std::isnan(y) || x == y) {
      out[i] = asWord(std::isnan(x) ? x : y);
      continue;
    }
    const Word sign = Word{1} << (bits - 1);
    Word word = 0;
    encode(e, &in[0][i], reinterpret_cast<std::byte *>(&word), 1);
    if (x == 0)
      word = 1 | (y < 0 ? sign : 0);
    else
      word += (y > x) == (x > 0) ? 1 : -1;
    decode(e, reinterpret_cast<const std::byte *>(&word), &out[i], 1);
  }
}

constexpr ElementFunctions kTable[] = {
    {"lgamma", float1<lgammaOf>},     {"digamma", float1<digamma>}, {"zeta", float2<zeta>},
    {"polygamma", float2<polygamma>}, {"erf_inv", float1<erfInv>},  {"bessel_i1e", float1<besselI1e>},
    {"next_after", nextAfter},
};

} // namespace

std::span<const ElementFunctions> specialFunctions() { return kTable; }

} // namespace glia::interp
