// The functions of the Scalar engine on rows (docs/numerics.md gives their errors and special values). One structure per
// function: fp64 ones work on widened halves of a vector, fp32 ones on the vector itself.
#include "glia/Numerics/Activation.h"
#include "Numerics/Simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "Numerics/Activation.cpp"
#include <hwy/foreach_target.h>
#include "Numerics/Math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {
namespace {

#define FUNCTION(name)                                                                                                      \
  struct name {                                                                                                             \
    template <class D, class V> HWY_INLINE V operator()([[maybe_unused]] D d, V x) const

FUNCTION(Copy) { return x; }
};
FUNCTION(Square) { return hn::Mul(x, x); }
};
FUNCTION(Abs) { return hn::Abs(x); }
}
;
// A NaN is told by its bits here: from `root == root` compilers know that x is not negative, and take oneNaN() of a root
// for needless.
FUNCTION(Sqrt) {
  const hn::RebindToSigned<D> di;
  const V root = hn::Sqrt(x);
  const auto bits = hn::And(hn::BitCast(di, root), hn::Set(di, 0x7FFFFFFF));
  const auto isNaN = hn::RebindMask(d, hn::Gt(bits, hn::Set(di, 0x7F800000)));
  return hn::IfThenElse(isNaN, hn::BitCast(d, hn::Set(di, 0x7FC00000)), root);
}
}
;
FUNCTION(Reciprocal) { return hn::Div(hn::Set(d, 1.0f), x); }
}
;
FUNCTION(Exp) { return exp32(d, x); }
}
;
FUNCTION(Relu) { return hn::IfThenElse(hn::Le(x, hn::Zero(d)), hn::Zero(d), x); }
}
;
FUNCTION(Sign) { // 0 for both zeros; a NaN stays
  const V one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  return hn::IfThenElse(hn::Gt(x, zero), one, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), hn::Add(x, zero)));
}
}
;

// Where the function has a limit at an infinity but its formula has none, the argument is clamped far outside the range in
// which the result still changes.
FUNCTION(Sigmoid) { return sigmoid64(d, x); }
}
;
FUNCTION(Tanh) { return tanh64(d, x); }
}
;
FUNCTION(Erf) { return erf64(d, x); }
}
;
FUNCTION(ErfDx) { return hn::Mul(hn::Set(d, 1.1283791670955126), exp64(d, hn::Neg(hn::Mul(x, x)))); }
}
;
FUNCTION(Arctan) { return atan64(d, x); }
}
;
FUNCTION(Rsqrt) { return hn::Div(hn::Set(d, 1.0), hn::Sqrt(x)); }
}
;
FUNCTION(Silu) {
  x = atLeast(d, x, -1000);
  return hn::Mul(x, sigmoid64(d, x));
}
}
;
FUNCTION(SiluDx) { // s (1 + x (1 - s)), with 1 - s as the sigmoid of -x
  x = atLeast(d, atMost(d, x, 1000), -1000);
  const V rest = hn::Mul(x, sigmoid64(d, hn::Neg(x)));
  return hn::Mul(sigmoid64(d, x), hn::Add(hn::Set(d, 1.0), rest));
}
}
;
FUNCTION(Gelu) {
  x = atLeast(d, x, -1000);
  return hn::Mul(x, normal64(d, x));
}
}
;
FUNCTION(GeluDx) {
  x = atLeast(d, atMost(d, x, 1000), -1000);
  const V density = hn::Mul(hn::Set(d, 0.3989422804014327), exp64(d, hn::Mul(hn::Mul(x, x), hn::Set(d, -0.5))));
  return fma(d, x, density, normal64(d, x));
}
}
;
FUNCTION(GeluTanh) { // (1 + tanh u) / 2 is the sigmoid of 2u
  x = atLeast(d, x, -1000);
  const V u = hn::Mul(x, fma(d, hn::Mul(x, x), hn::Set(d, 0.044715), hn::Set(d, 1.0)));
  return hn::Mul(x, sigmoid64(d, hn::Mul(u, hn::Set(d, 1.5957691216057308))));
}
}
;
FUNCTION(GeluSigmoid) {
  x = atLeast(d, x, -1000);
  return hn::Mul(x, sigmoid64(d, hn::Mul(x, hn::Set(d, 1.702))));
}
}
;
FUNCTION(GeluSigmoidDx) { return SiluDx()(d, hn::Mul(x, hn::Set(d, 1.702))); }
}
;
FUNCTION(Softplus) {
  const V positive = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Zero(d), x);
  return hn::Add(positive, log1p64(d, exp64(d, hn::Neg(hn::Abs(x)))));
}
}
;
FUNCTION(Mish) { // with e = exp(x), tanh(ln(1 + e)) = e (e + 2) / (e (e + 2) + 2)
  x = atLeast(d, x, -1000);
  const V two = hn::Set(d, 2.0), e = exp64(d, atMost(d, x, 300)), n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}
}
;
FUNCTION(Log) {
  const V zero = hn::Zero(d), infinity = hn::Inf(d);
  const auto ordinary = hn::And(hn::Gt(x, zero), hn::Lt(x, infinity));
  const V other = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Gt(x, zero), x, hn::NaN(d)));
  return hn::IfThenElse(ordinary, log64(d, hn::IfThenElse(ordinary, x, hn::Set(d, 1.0))), other);
}
}
;
// No range reduction, as on the hardware: beyond pi the cubic s^3 / 6 - s of s = |x| - pi goes on.
FUNCTION(Sin) {
  const V magnitude = hn::Abs(x), pi = hn::Set(d, 3.141592653589793);
  const V inside = hn::Mul(x, polynomial(d, hn::Mul(x, x), coefficients::kSin));
  // pi to 106 bits: the fp32 next to it is only 2^-24 away
  const V s = hn::Sub(hn::Sub(magnitude, pi), hn::Set(d, 1.2246467991473532e-16));
  const V outside = hn::Mul(s, fma(d, hn::Mul(s, s), hn::Set(d, 1.0 / 6), hn::Set(d, -1.0)));
  const auto isNegative = hn::Lt(x, hn::Zero(d));
  return hn::IfThenElse(hn::Gt(magnitude, pi), hn::IfThenElse(isNegative, hn::Neg(outside), outside), inside);
}
}
;
#undef FUNCTION

using Df = hn::ScalableTag<float>;

// f(x * scale + bias) on a vector; the second operand of the row loop is not used.
template <class F, bool Wide> struct Apply {
  float scale, bias;
  template <class V> HWY_INLINE V operator()(Df d, V in, V) const {
    const V x = fma(d, in, hn::Set(d, scale), hn::Set(d, bias));
    if constexpr (Wide)
      return oneNaN(d, wide(d, x));
    else
      return oneNaN(d, F()(d, x));
  }
  template <class V> static HWY_NOINLINE V wide(Df d, V x) { // not inline: long, and the row loop has it several times
    return inDouble<F>(d, x);
  }
};

struct Row {
  const float *in;
  float scale, bias;
  float *out;
  int64_t n;
};
template <class F, bool Wide> void run(const Row &r) {
  mapRows(Df(), Apply<F, Wide>{r.scale, r.bias}, RowInput<float>{r.in}, ScalarInput<float>{0}, r.out, r.n);
}

} // namespace

void activationRowTarget(ActFn f, const float *in, float scale, float bias, float *out, int64_t n) {
  static constexpr void (*table[kNumActFns])(const Row &) = {
      run<Copy, false>,  run<Square, false>,  run<Sigmoid, true>,     run<Relu, false>,         run<Gelu, true>,
      run<GeluDx, true>, run<GeluTanh, true>, run<GeluSigmoid, true>, run<GeluSigmoidDx, true>, run<Silu, true>,
      run<SiluDx, true>, run<Tanh, true>,     run<Softplus, true>,    run<Mish, true>,          run<Erf, true>,
      run<ErfDx, true>,  run<Exp, false>,     run<Sign, false>,       run<Abs, false>,          run<Log, true>,
      run<Sin, true>,    run<Arctan, true>,   run<Sqrt, false>,       run<Rsqrt, true>,         run<Reciprocal, false>};
  table[static_cast<int>(f)](Row{in, scale, bias, out, n});
}

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>

namespace glia {
namespace {
constexpr std::array<std::string_view, kNumActFns> kNames = {"copy",
                                                             "square",
                                                             "sigmoid",
                                                             "relu",
                                                             "gelu",
                                                             "gelu_dx",
                                                             "gelu_apprx_tanh",
                                                             "gelu_apprx_sigmoid",
                                                             "gelu_apprx_sigmoid_dx",
                                                             "silu",
                                                             "silu_dx",
                                                             "tanh",
                                                             "softplus",
                                                             "mish",
                                                             "erf",
                                                             "erf_dx",
                                                             "exp",
                                                             "sign",
                                                             "abs",
                                                             "log",
                                                             "sin",
                                                             "arctan",
                                                             "sqrt",
                                                             "rsqrt",
                                                             "reciprocal"};
HWY_EXPORT(activationRowTarget);
} // namespace

const EnumNames &activationNames() {
  static const EnumNames names{"activation", kNames};
  return names;
}

// A bias of -0 leaves every x as it is, -0 included.
float activation(ActFn f, float x) {
  float y;
  HWY_DYNAMIC_DISPATCH(activationRowTarget)(f, &x, 1.0f, -0.0f, &y, 1);
  return y;
}

void activationRow(ActFn f, const float *in, float scale, float bias, float *out, int64_t n) {
  HWY_DYNAMIC_DISPATCH(activationRowTarget)(f, in, scale, bias, out, n);
}

std::optional<ActRange> documentedRange(ActFn f) {
  constexpr float kPi = 3.14159274f;
  switch (f) {
  case ActFn::Log: return ActRange{0x1p-64f, 0x1p64f, false};
  case ActFn::Sin: return ActRange{0, kPi, true};
  case ActFn::Arctan: return ActRange{0, kPi / 2, true};
  case ActFn::Sqrt: return ActRange{0x1p-116f, 0x1p118f, false};
  case ActFn::Rsqrt: return ActRange{0x1p-87f, 0x1p97f, false};
  case ActFn::Reciprocal: return ActRange{0x1p-42f, 0x1p42f, true};
  default: return {};
  }
}

// NaN is no number to be inside or outside.
bool ActRange::holds(float x) const {
  return std::isnan(x) || (std::abs(x) >= least && std::abs(x) <= most && (negative || x >= 0));
}

} // namespace glia
#endif
