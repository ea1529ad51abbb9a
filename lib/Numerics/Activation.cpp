// The functions of the Scalar engine (docs/numerics.md).
#include "glia/Numerics/Activation.h"

#include <array>
#include <cmath>

namespace glia {
namespace {

constexpr std::array<std::string_view, kNumActFns> kNames = {
    "copy", "square", "sigmoid", "relu", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx", "silu", "silu_dx", "tanh", "softplus", "mish", "erf", "erf_dx", "exp", "sign", "abs", "log",
    "sin", "arctan", "sqrt", "rsqrt", "reciprocal"};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normalCdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }
double normalPdf(double x) { return 0.39894228040143267794 * std::exp(-0.5 * x * x); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }

double function(ActFn f, double x) {
  switch (f) {
  case ActFn::Sigmoid: return sigmoid(x);
  case ActFn::Gelu: return x == -INFINITY ? 0 : x * normalCdf(x);
  case ActFn::GeluDx: return std::isinf(x) ? x > 0 : normalCdf(x) + x * normalPdf(x);
  case ActFn::GeluTanh: return x == -INFINITY ? 0 : x * sigmoid(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x));
  case ActFn::GeluSigmoid: return x == -INFINITY ? 0 : x * sigmoid(1.702 * x);
  case ActFn::GeluSigmoidDx: {
    double s = sigmoid(1.702 * x);
    return std::isinf(x) ? x > 0 : s + 1.702 * x * s * sigmoid(-1.702 * x);
  }
  case ActFn::Silu: return x == -INFINITY ? 0 : x * sigmoid(x);
  case ActFn::SiluDx: return std::isinf(x) ? x > 0 : sigmoid(x) + x * sigmoid(x) * sigmoid(-x);
  case ActFn::Tanh: return std::tanh(x);
  case ActFn::Softplus: return softplus(x);
  case ActFn::Mish: return x == -INFINITY ? 0 : x * std::tanh(softplus(x));
  case ActFn::Erf: return std::erf(x);
  case ActFn::ErfDx: return 1.12837916709551257390 * std::exp(-x * x);
  case ActFn::Exp: return std::exp(x);
  case ActFn::Log: return std::log(x);
  case ActFn::Sin: return std::sin(x);
  case ActFn::Arctan: return std::atan(x);
  case ActFn::Rsqrt: return 1 / std::sqrt(x);
  default: return x;
  }
}

} // namespace

const EnumNames &activationNames() {
  static const EnumNames names{"activation", kNames};
  return names;
}

float activation(ActFn f, float x) {
  switch (f) {
  case ActFn::Copy: return x;
  case ActFn::Square: return x * x;
  case ActFn::Relu: return x > 0 ? x : x != x ? x : 0;
  case ActFn::Sign: return static_cast<float>((x > 0) - (x < 0));
  case ActFn::Abs: return std::fabs(x);
  case ActFn::Sqrt: return std::sqrt(x);
  case ActFn::Reciprocal: return 1 / x;
  default: return static_cast<float>(function(f, x));
  }
}

void activationRow(ActFn f, const float *in, float scale, float bias, float *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = activation(f, std::fma(in[i], scale, bias));
}

} // namespace glia
