// Elementary functions without libm, so that every host gives the same bits. In fp64 with errors far below an fp32 ulp
// (rounding to fp32 then costs half an ulp), but for exp, which has a faster fp32 form. NaN in, NaN out: clamps are written
// as compare-and-select, which keep a NaN.
#include "Numerics/Coefficients.h"
#include "Numerics/Vector-inl.h"

#include <array>

#if defined(GLIA_NUMERICS_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIA_NUMERICS_MATH_INL_H
#undef GLIA_NUMERICS_MATH_INL_H
#else
#define GLIA_NUMERICS_MATH_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace glia::HWY_NAMESPACE {

template <class D, class V, class T, size_t N> HWY_INLINE V polynomial(D d, V x, const std::array<T, N> &c) {
  V sum = hn::Set(d, c[N - 1]);
  for (size_t k = N - 1; k-- > 0;)
    sum = fma(d, sum, x, hn::Set(d, c[k]));
  return sum;
}
template <class D, class V> HWY_INLINE V atMost(D d, V x, double limit) {
  const V l = hn::Set(d, static_cast<hn::TFromD<D>>(limit));
  return hn::IfThenElse(hn::Gt(x, l), l, x);
}
template <class D, class V> HWY_INLINE V atLeast(D d, V x, double limit) {
  const V l = hn::Set(d, static_cast<hn::TFromD<D>>(limit));
  return hn::IfThenElse(hn::Lt(x, l), l, x);
}

// 1.5 * 2^52: added to a small number, its low bits are that number rounded to an integer.
constexpr double kRound64 = 0x1.8p52;
constexpr float kRound32 = 0x1.8p23f;

// e^x; x is clamped so that the result stays a normal fp64 number, beyond both ends of fp32.
template <class D, class V> HWY_INLINE V exp64(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  x = atLeast(d, atMost(d, x, 700), -700);
  const V shifted = fma(d, x, hn::Set(d, 1.4426950408889634), hn::Set(d, kRound64));
  const V n = hn::Sub(shifted, hn::Set(d, kRound64));
  V r = fma(d, n, hn::Set(d, -0x1.62e42fefa39efp-1), x);
  r = fma(d, n, hn::Set(d, -0x1.abc9e3b39803fp-56), r);
  const V scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(hn::BitCast(du, shifted), hn::Set(du, uint64_t{1023}))));
  return hn::Mul(polynomial(d, r, coefficients::kExp), scale);
}

// ln x for a positive, finite, normal fp64 number. m in [sqrt(1/2), sqrt(2)), ln m = 2 atanh((m - 1) / (m + 1)).
template <class D, class V> HWY_INLINE V log64(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto e = hn::ShiftRight<52>(hn::Sub(bits, hn::Set(di, int64_t{0x3FE6A09E667F3BCD}))); // the bits of sqrt(1/2)
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(e)));
  const V one = hn::Set(d, 1.0);
  const V s = hn::Div(hn::Sub(m, one), hn::Add(m, one)), s2 = hn::Mul(s, s);
  const V k = hn::Sub(hn::BitCast(d, hn::Add(e, hn::BitCast(di, hn::Set(d, kRound64)))), hn::Set(d, kRound64));
  const V logM = hn::Mul(hn::Add(s, s), polynomial(d, s2, coefficients::kAtanh));
  return fma(d, k, hn::Set(d, 0.6931471805599453), logM);
}

// ln(1 + t) for 0 <= t <= 1, with a small relative error for small t.
template <class D, class V> HWY_INLINE V log1p64(D d, V t) {
  const V s = hn::Div(t, hn::Add(t, hn::Set(d, 2.0)));
  return hn::Mul(hn::Add(s, s), polynomial(d, hn::Mul(s, s), coefficients::kAtanh));
}

template <class D, class V> HWY_INLINE V sigmoid64(D d, V x) {
  const V one = hn::Set(d, 1.0);
  return hn::Div(one, hn::Add(one, exp64(d, hn::Neg(x))));
}

// Near 0 the quotient loses its leading digits, the series does not.
template <class D, class V> HWY_INLINE V tanh64(D d, V x) {
  const V one = hn::Set(d, 1.0), magnitude = hn::Abs(x), x2 = hn::Mul(x, x);
  const V t = exp64(d, hn::Mul(magnitude, hn::Set(d, -2.0)));
  const V quotient = hn::CopySign(hn::Div(hn::Sub(one, t), hn::Add(one, t)), x);
  const V series = hn::Mul(x, fma(d, x2, fma(d, x2, hn::Set(d, 2.0 / 15), hn::Set(d, -1.0 / 3)), one));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x1p-10)), series, quotient);
}

// erfc(z) for z >= 0.
template <class D, class V> HWY_INLINE V erfc64(D d, V z) {
  z = atMost(d, z, 30); // exp(-z^2) is 0 in fp32 from 11 on
  const V t = hn::Div(hn::Sub(z, hn::Set(d, 3.5)), hn::Add(z, hn::Set(d, 3.5)));
  const V gauss = exp64(d, hn::Neg(hn::Mul(z, z)));
  return hn::Div(hn::Mul(gauss, polynomial(d, t, coefficients::kErfc)), fma(d, z, hn::Set(d, 2.0), hn::Set(d, 1.0)));
}
template <class D, class V> HWY_INLINE V erf64(D d, V x) {
  const V magnitude = hn::Abs(x);
  const V series = hn::Mul(x, polynomial(d, hn::Mul(x, x), coefficients::kErf));
  const V rest = hn::CopySign(hn::Sub(hn::Set(d, 1.0), erfc64(d, magnitude)), x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.5)), series, rest);
}
// The normal distribution function, also far out on the left.
template <class D, class V> HWY_INLINE V normal64(D d, V x) {
  const V tail = hn::Mul(hn::Set(d, 0.5), erfc64(d, hn::Mul(hn::Abs(x), hn::Set(d, 0.7071067811865476))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0), tail));
}

// Three pieces with |v| <= tan(pi / 8): v = x, (x - 1) / (x + 1) or -1 / x.
template <class D, class V> HWY_INLINE V atan64(D d, V x) {
  const V one = hn::Set(d, 1.0), magnitude = hn::Abs(x);
  const auto middle = hn::Gt(magnitude, hn::Set(d, 0.41421356237309503));
  const auto far = hn::Gt(magnitude, hn::Set(d, 2.414213562373095));
  const V top = hn::IfThenElse(far, hn::Neg(one), hn::IfThenElse(middle, hn::Sub(magnitude, one), magnitude));
  const V bottom = hn::IfThenElse(far, magnitude, hn::IfThenElse(middle, hn::Add(magnitude, one), one));
  const V v = hn::Div(top, bottom);
  const V offset =
      hn::IfThenElse(far, hn::Set(d, 1.5707963267948966), hn::IfThenElseZero(middle, hn::Set(d, 0.7853981633974483)));
  const V r = fma(d, v, polynomial(d, hn::Mul(v, v), coefficients::kAtan), offset);
  return hn::CopySign(r, x);
}

// x^y, |x| by way of its logarithm; x and y hold fp32 values. Special cases as in C's pow.
template <class D, class V> HWY_INLINE V pow64(D d, V x, V y) {
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), infinity = hn::Inf(d), nan = hn::NaN(d), magnitude = hn::Abs(x);
  const auto isZero = hn::Eq(x, zero), isInfinite = hn::Eq(magnitude, infinity), yIsInfinite = hn::Eq(hn::Abs(y), infinity);
  // Any normal number stands in where the logarithm is not used.
  const V safe = hn::IfThenElse(hn::Or(isZero, isInfinite), one, magnitude);
  V r = exp64(d, hn::Mul(y, log64(d, safe)));
  const V ifPositiveY = hn::IfThenElseZero(isInfinite, infinity), ifNegativeY = hn::IfThenElseZero(isZero, infinity);
  r = hn::IfThenElse(hn::Or(isZero, isInfinite), hn::IfThenElse(hn::Gt(y, zero), ifPositiveY, ifNegativeY), r);
  const auto grows = hn::Not(hn::Xor(hn::Gt(magnitude, one), hn::Gt(y, zero)));
  r = hn::IfThenElse(yIsInfinite, hn::IfThenElseZero(grows, infinity), r);
  // Sign: y is an integer if rounding keeps it, odd if half of it is not one. From 2^24 on fp32 holds even integers only.
  const V half = hn::Mul(y, hn::Set(d, 0.5));
  const auto isInteger = hn::Eq(hn::Round(y), y);
  const auto isOdd = hn::AndNot(hn::Eq(hn::Round(half), half), isInteger);
  r = hn::IfThenElse(hn::And(isOdd, hn::Lt(hn::CopySign(one, x), zero)), hn::Neg(r), r);
  const auto finiteNegative = hn::AndNot(hn::Or(isZero, isInfinite), hn::Lt(x, zero));
  r = hn::IfThenElse(hn::AndNot(isInteger, finiteNegative), nan, r);
  r = hn::IfThenElse(hn::And(hn::Eq(magnitude, one), yIsInfinite), one, r);
  r = hn::IfThenElse(hn::And(hn::Eq(x, x), hn::Eq(y, y)), r, nan);
  return hn::IfThenElse(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), one, r);
}

// e^x in fp32, 0.94 ulp measured on a sample. The first form serves vectors whose results are all normal numbers; the second multiplies
// by the power of two in two steps, so that denormals round once. Both give the same bits where both apply.
template <class D, class V> HWY_INLINE V exp32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const bool ordinary = hn::AllTrue(d, hn::Lt(hn::Abs(x), hn::Set(d, 87.0f)));
  if (!ordinary)
    x = atLeast(d, atMost(d, x, 100), -110);
  const V shifted = fma(d, x, hn::Set(d, 1.44269504f), hn::Set(d, kRound32));
  const V n = hn::Sub(shifted, hn::Set(d, kRound32));
  V r = fma(d, n, hn::Set(d, -0x1.62e43p-1f), x);
  r = fma(d, n, hn::Set(d, 0x1.05c61p-29f), r);
  const V tail = polynomial(d, r, coefficients::kExpF32);
  const V p = hn::Add(hn::Set(d, 1.0f), fma(d, hn::Mul(r, r), tail, r));
  const auto bits = hn::BitCast(di, shifted); // the low byte holds n
  if (ordinary)
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(bits)));
  const auto exponent = hn::Sub(bits, hn::BitCast(di, hn::Set(d, kRound32)));
  const auto first = hn::ShiftRight<1>(exponent), second = hn::Sub(exponent, first), bias = hn::Set(di, 127);
  const V scale1 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(first, bias)));
  const V scale2 = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(second, bias)));
  return hn::Mul(hn::Mul(p, scale1), scale2);
}

} // namespace glia::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif // once per target
