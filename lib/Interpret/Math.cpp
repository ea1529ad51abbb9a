// Elementary functions: the C library's in double, rounded to the type afterwards, so nearly correctly rounded up to f32.
#include "Interpret/Pointwise.h"

#include <cmath>

namespace glia::interp {

namespace {

template <double (*F)(double)> constexpr Pointwise::Row kOf = float1<[](double x) { return F(x); }>;
double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double gelu(double x) { return std::isinf(x) ? std::fmax(x, -0.0) : x * std::erfc(x * -M_SQRT1_2) / 2; }
double geluByTanh(double x) {
  if (std::isinf(x))
    return std::fmax(x, -0.0);
  const double u = std::sqrt(8 / M_PI) * (x + 0.044715 * x * x * x); // (1 + tanh(u / 2)) / 2 is the logistic function
  return x * logistic(u);
}
double rsqrt(double x) { return 1 / std::sqrt(x); }

constexpr ElementFunctions kTable[] = {
    {"cbrt", kOf<std::cbrt>},
    {"ceil", kOf<std::ceil>},
    {"floor", kOf<std::floor>},
    {"round_nearest_afz", kOf<std::round>},
    {"round_nearest_even", kOf<std::nearbyint>},
    {"cosine", kOf<std::cos>},
    {"sine", kOf<std::sin>},
    {"tan", kOf<std::tan>},
    {"tanh", kOf<std::tanh>},
    {"exponential", kOf<std::exp>},
    {"exponential_minus_one", kOf<std::expm1>},
    {"log", kOf<std::log>},
    {"log_plus_one", kOf<std::log1p>},
    {"logistic", kOf<logistic>},
    {"sqrt", kOf<std::sqrt>},
    {"rsqrt", kOf<rsqrt>},
    {"acos", kOf<std::acos>},
    {"acosh", kOf<std::acosh>},
    {"asin", kOf<std::asin>},
    {"asinh", kOf<std::asinh>},
    {"atan", kOf<std::atan>},
    {"atanh", kOf<std::atanh>},
    {"cosh", kOf<std::cosh>},
    {"sinh", kOf<std::sinh>},
    {"erf", kOf<std::erf>},
    {"erfc", kOf<std::erfc>},
    {"gelu", kOf<gelu>},
    {"gelu_apprx_tanh", kOf<geluByTanh>},
    {"softplus", kOf<softplus>},
    {"atan2", float2<[](double y, double x) { return std::atan2(y, x); }>},
};

} // namespace

std::span<const ElementFunctions> mathFunctions() { return kTable; }

} // namespace glia::interp
