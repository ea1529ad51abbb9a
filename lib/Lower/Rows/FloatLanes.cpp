#include "FloatLanes.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

void copySign(KernelBuilder &k, RowsLanes &l, const Tile &to, const Tile &from) {
  const Tile sign = l.make(DType::I32, to.elements());
  k.scalar(sign, from.as(DType::I32), "bitwise_and", -0x1p31f);
  k.tensor(to.as(DType::I32), to.as(DType::I32), sign, "bitwise_or");
}

} // namespace

// The table of arctan goes from -pi/2 to pi/2: beyond 1, pi/2 less the arc tangent of the reciprocal.
void arcTangent(RowsLanes &l, const Tile &dst, const Lane &in) {
  KernelBuilder &k = l.k;
  const int64_t n = dst.elements();
  const auto make = [&](DType t = DType::F32) { return l.make(t, n); };
  const Tile x = make(), size = make(), inverse = make(), y = make(), other = make(), large = make(DType::U8);
  k.move(x, l.at(in, n));
  k.scalar(size, x, "abs", 0.0f);
  k.scalar(large, size, "greater", 1.0f);
  k.reciprocal(inverse, size);
  k.select(size, large, inverse);
  k.activation(y, size, "arctan");
  k.scalar(other, y, "multiply", -1.0f, false, "add", 1.57079632679f);
  k.select(y, large, other);
  copySign(k, l, y, x);
  k.move(dst, y);
}

// With u = exp(x) rounded, (u - 1) x / log(u) corrects the error of u; beyond 1 the difference is good enough itself.
void exponentialMinusOne(RowsLanes &l, const Tile &dst, const Tile &in) {
  KernelBuilder &k = l.k;
  const int64_t n = dst.elements();
  if (!k.fewTables) { // tanh(x / 2) (exp(x) + 1), of which nothing cancels
    const Tile t = l.make(DType::F32, n), e = l.make(DType::F32, n), more = l.make(DType::F32, n);
    k.activation(t, in, "tanh", 0.5f);
    k.activation(e, in, "exp");
    k.scalar(more, e, "add", 1.0f);
    return k.tensor(dst, more, t, "multiply");
  }
  const Tile x = l.make(DType::F32, n), u = l.make(DType::F32, n), y = l.make(DType::F32, n), d = l.make(DType::F32, n),
             mask = l.make(DType::U8, n);
  k.move(x, in);
  k.activation(u, x, "exp");
  k.activation(y, u, "log");
  k.reciprocal(y, y);
  k.tensor(y, y, x, "multiply");
  k.scalar(d, u, "subtract", 1.0f);
  k.tensor(y, y, d, "multiply");
  k.scalar(mask, u, "equal", 1.0f);
  k.select(y, mask, x);
  k.scalar(mask, x, "abs", 0.0f, false, "greater", 1.0f);
  k.select(y, mask, d);
  k.move(dst, y);
}

void logPlusOne(RowsLanes &lanes, const Tile &dst, const Tile &in) {
  KernelBuilder &k = lanes.k;
  const int64_t n = dst.elements();
  const Tile x = lanes.make(DType::F32, n), u = lanes.make(DType::F32, n), l = lanes.make(DType::F32, n),
             y = lanes.make(DType::F32, n), mask = lanes.make(DType::U8, n);
  k.move(x, in);
  k.scalar(u, x, "add", 1.0f);
  k.activation(l, u, "log");
  k.scalar(y, u, "subtract", 1.0f);
  k.reciprocal(y, y);
  k.tensor(y, y, x, "multiply");
  k.tensor(y, y, l, "multiply");
  k.scalar(mask, u, "equal", 1.0f);
  k.select(y, mask, x);
  k.scalar(mask, x, "greater", 1.0f);
  k.select(y, mask, l);
  k.move(dst, y);
}

// Long division, eleven bits of the quotient at a time, from the largest multiple of the divisor that can count down to the divisor
// itself. A digit is estimated so that it is right or one too large; digit times divisor is exact in two parts, and so are the
// differences; a rest below zero gets the divisor back.
void floatRemainder(RowsLanes &l, const Tile &dst, const Lane &xIn, const Lane &yIn) {
  constexpr int kBits = 11;
  constexpr float kRound = 0x1p23f;
  KernelBuilder &k = l.k;
  const int64_t n = dst.elements();
  const auto make = [&](DType t = DType::F32) { return l.make(t, n); };
  const Tile x = make(), a = make(), b = make(), far = make();
  k.move(x, l.at(xIn, n));
  k.scalar(a, x, "abs", 0.0f);
  k.move(far, l.at(yIn, n));
  k.scalar(b, far, "abs", 0.0f);
  k.scalar(far, b, "multiply", 0x1p64f);
  // How much larger than the divisor the dividend can be.
  const int top = xIn.type == DType::F16 ? 16 : 128;
  int bottom = xIn.type == DType::F16 ? -24 : -149;
  if (yIn.splat && std::isfinite(*yIn.splat) && *yIn.splat != 0)
    bottom = std::max(bottom, std::ilogb(*yIn.splat));
  for (int step = std::max(top - bottom, 0) / kBits; step >= 0; --step) {
    const Tile by = make(), scale = make(), rest = make(), digit = make(), upper = make(), lower = make(), part = make(),
               goes = make(DType::U8);
    int power = kBits * step;
    const Tile &from = power > 200 ? far : b;
    power -= power > 200 ? 64 : 0;
    const int first = std::min(power, 100);
    k.scalar(by, from, "multiply", std::ldexp(1.0f, first), false, "multiply", std::ldexp(1.0f, power - first));
    k.tensor(goes, a, by, "greater_equal"); // what follows counts only there; `by` may be infinity elsewhere
    // Away from both ends of the range: 2^24 times what is below 1, 2^-24 times what is above.
    k.scalar(scale, by, "less", 1.0f, false, "multiply", 0x1p24f);
    k.scalar(scale, scale, "add", 0x1p-24f);
    k.tensor(by, by, scale, "multiply");
    k.tensor(rest, a, scale, "multiply");
    k.reciprocal(digit, by);
    k.tensor(digit, rest, digit, "multiply");
    k.scalar(digit, digit, "add", 0x1p-10f - 0.5f, false, "add", kRound);
    k.scalar(digit, digit, "subtract", kRound);
    k.scalar(upper.as(DType::I32), by.as(DType::I32), "bitwise_and", -4096.0f);
    k.tensor(lower, by, upper, "subtract");
    for (const Tile &half : {upper, lower}) {
      k.tensor(part, digit, half, "multiply");
      k.tensor(rest, rest, part, "subtract");
    }
    k.scalar(part, rest, "less", 0.0f);
    k.tensor(part, part, by, "multiply");
    k.tensor(rest, rest, part, "add");
    k.reciprocal(scale, scale);
    k.tensor(rest, rest, scale, "multiply");
    k.select(a, goes, rest);
  }
  copySign(k, l, a, x);
  // NaN for an infinite dividend, a divisor of zero, and NaN.
  const Tile good = make(DType::U8), fine = make(DType::U8);
  k.scalar(good, x, "abs", 0.0f, false, "less_equal", FLT_MAX);
  k.scalar(fine, b, "greater", 0.0f);
  k.tensor(good, good, fine, "bitwise_and");
  k.select(a, good, l.constant(DType::F32, std::numeric_limits<double>::quiet_NaN(), n), true);
  k.move(dst, a);
}

} // namespace glia::emit
