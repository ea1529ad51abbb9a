// The functions of the Scalar engine, within 2 ulp of the real function in fp32, same bits on every host.
#pragma once
#include "glia/Support/EnumNames.h"

#include <cstdint>
#include <optional>

namespace glia {

enum class ActFn : uint8_t {
  Copy,
  Square,
  Sigmoid,
  Relu,
  Gelu,
  GeluDx,
  GeluTanh,
  GeluSigmoid,
  GeluSigmoidDx,
  Silu,
  SiluDx,
  Tanh,
  Softplus,
  Mish,
  Erf,
  ErfDx,
  Exp,
  Sign,
  Abs,
  Log,
  Sin,
  Arctan,
  Sqrt,
  Rsqrt,
  Reciprocal,
};
inline constexpr int kNumActFns = static_cast<int>(ActFn::Reciprocal) + 1;
const EnumNames &activationNames(); // "copy" "square" "sigmoid" "relu" "gelu" "gelu_dx" "gelu_apprx_tanh" ...

float activation(ActFn f, float x);
// out[i] = f(in[i] * scale + bias), the multiply-add fused. `out` may be `in`.
void activationRow(ActFn f, const float *in, float scale, float bias, float *out, int64_t n);

// Magnitudes for which the hardware's function is specified (docs/numerics.md); outside, glia still gives the function.
struct ActRange {
  float least, most; // of |x|
  bool negative;     // x < 0 is inside, too
  bool holds(float x) const;
};
std::optional<ActRange> documentedRange(ActFn f); // none: all numbers

} // namespace glia
