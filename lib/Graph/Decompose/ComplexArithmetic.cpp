#include "ComplexArithmetic.h"

#include <limits>

namespace glia::emit {

using graph::ComparisonDirection;
using Value = mlir::Value;

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

Value ComplexArithmetic::isInfinite(Value x) {
  return g.compare(ComparisonDirection::EQ, unary("abs", x), g.number(kInfinity, x));
}

Value ComplexArithmetic::isZero(Value x) {
  return g.compare(ComparisonDirection::LT, unary("abs", x), g.number(0x1p-126, x));
}

// By the bits, so that -0 counts.
Value ComplexArithmetic::withSign(Value size, Value sign) {
  const mlir::Type word = g.b.getIntegerType(32, false);
  const Value bits = g.bitcast(sign, word), top = g.number(0x80000000u, bits);
  return g.bitcast(g.binary("or", g.bitcast(size, word), g.binary("and", bits, top)), elementOf(size));
}

Parts ComplexArithmetic::multiply(Parts a, Parts b) {
  return {g.subtract(g.multiply(a.re, b.re), g.multiply(a.im, b.im)), g.add(g.multiply(a.re, b.im), g.multiply(a.im, b.re))};
}

// Both are divided by their larger part first. What has no such form (a divisor of zero, infinities) is what XLA makes of it.
Parts ComplexArithmetic::divide(Parts a, Parts b) {
  const auto larger = [&](Parts z) { return g.binary("maximum", unary("abs", z.re), unary("abs", z.im)); };
  const Value zero = number(0, a), one = number(1, a), infinity = number(kInfinity, a);
  const Value top = larger(a), bottom = larger(b);
  const Value safeTop = g.select(isZero(top), one, top);
  const Parts x{g.divide(a.re, safeTop), g.divide(a.im, safeTop)}, y{g.divide(b.re, bottom), g.divide(b.im, bottom)};
  const Value norm = g.add(g.multiply(y.re, y.re), g.multiply(y.im, y.im)), ratio = g.divide(safeTop, bottom);
  const Parts product = multiply(x, {y.re, unary("negate", y.im)});
  const auto scaled = [&](Value part) { // the ratio may be infinite
    const Value made = g.divide(part, norm);
    return g.select(g.compare(ComparisonDirection::EQ, made, zero), made, g.multiply(made, ratio));
  };
  Parts out{scaled(product.re), scaled(product.im)};

  const Value byZero = withSign(infinity, b.re);
  const auto mark = [&](Value v) { // one for an infinity, with its sign, else zero
    return withSign(g.select(isInfinite(v), one, zero), v);
  };
  const Value endlessTop = isInfinite(a), endlessBottom = isInfinite(b);
  const Parts from = multiply({mark(a.re), mark(a.im)}, {b.re, unary("negate", b.im)});
  out = select(g.binary("and", endlessTop, g.unary("not", endlessBottom)),
               {g.multiply(infinity, from.re), g.multiply(infinity, from.im)}, out);
  const Parts to = multiply(a, {mark(b.re), unary("negate", mark(b.im))});
  out = select(g.binary("and", endlessBottom, g.unary("not", endlessTop)),
               {g.multiply(zero, to.re), g.multiply(zero, to.im)}, out);
  return select(isZero(bottom), {g.multiply(byZero, a.re), g.multiply(byZero, a.im)}, out);
}

Value ComplexArithmetic::compare(ComparisonDirection how, Parts a, Parts b) {
  return g.binary(how == ComparisonDirection::EQ ? "and" : "or", g.compare(how, a.re, b.re), g.compare(how, a.im, b.im));
}

Value ComplexArithmetic::size(Parts a) {
  const Value x = unary("abs", a.re), y = unary("abs", a.im);
  const Value more = g.binary("maximum", x, y), less = g.binary("minimum", x, y);
  const Value safe = g.select(isZero(more), number(1, a), more);
  const Value ratio = g.divide(less, safe);
  const Value made = g.multiply(more, unary("sqrt", g.add(number(1, a), g.multiply(ratio, ratio))));
  return g.select(isInfinite(a), number(kInfinity, a), made);
}

Value ComplexArithmetic::angle(Parts a) { return g.binary("atan2", a.im, a.re); }

// In two factors, each of which is finite where the product is.
Parts ComplexArithmetic::exponential(Parts a) {
  const Value root = unary("exponential", half(a.re)), zero = number(0, a);
  const auto times = [&](Value x) { return g.multiply(g.multiply(root, x), root); };
  const Value still = g.compare(ComparisonDirection::EQ, a.im, zero);
  return {times(unary("cosine", a.im)), g.select(still, a.im, times(unary("sine", a.im)))};
}

Parts ComplexArithmetic::exponentialMinusOne(Parts a) {
  const Value s = unary("sine", half(a.im)), less = unary("exponential_minus_one", a.re), c = unary("cosine", a.im);
  return {g.subtract(g.multiply(less, c), g.multiply(number(2, a), g.multiply(s, s))),
          g.select(g.compare(ComparisonDirection::EQ, a.im, number(0, a)), a.im,
                   g.multiply(g.add(less, number(1, a)), unary("sine", a.im)))};
}

// Near the circle of one the logarithm of the size is that of the square less one.
Parts ComplexArithmetic::log(Parts a) {
  const Value x = unary("abs", a.re), y = unary("abs", a.im), one = number(1, a);
  const Value more = g.binary("maximum", x, y), less = g.binary("minimum", x, y);
  const Value over = g.multiply(g.subtract(more, one), g.add(more, one));
  const Value beside = half(unary("log_plus_one", g.add(over, g.multiply(less, less))));
  const Value near = g.binary("and", g.compare(ComparisonDirection::GT, more, number(0.5, a)),
                              g.compare(ComparisonDirection::LT, more, number(2, a)));
  const Value ratio = g.divide(less, g.select(isZero(more), one, more));
  const Value far = g.add(unary("log", more), half(unary("log_plus_one", g.multiply(ratio, ratio))));
  return {g.select(isInfinite(a), number(kInfinity, a), g.select(near, beside, far)), angle(a)};
}

Parts ComplexArithmetic::logPlusOne(Parts a) {
  const Value one = number(1, a), x = g.add(a.re, one);
  const Value square = g.add(g.multiply(a.re, g.add(a.re, number(2, a))), g.multiply(a.im, a.im));
  const Value small = g.binary("and", g.compare(ComparisonDirection::LT, unary("abs", a.re), number(0.5, a)),
                               g.compare(ComparisonDirection::LT, unary("abs", a.im), number(0.5, a)));
  return {g.select(small, half(unary("log_plus_one", square)), log({x, a.im}).re), angle({x, a.im})};
}

// The part that is a sum comes first, the other is a quotient by it.
Parts ComplexArithmetic::sqrt(Parts a) {
  const Value x = unary("abs", a.re), y = unary("abs", a.im), zero = number(0, a), one = number(1, a);
  const Value more = g.binary("maximum", x, y);
  const Value safe = g.select(isZero(more), one, more);
  const Value u = g.divide(x, safe), v = g.divide(y, safe);
  const Value inner = half(g.add(u, unary("sqrt", g.add(g.multiply(u, u), g.multiply(v, v)))));
  const Value sum = g.multiply(unary("sqrt", more), unary("sqrt", inner));
  const Value divisor = g.select(isZero(sum), one, sum);
  const Value other = half(g.divide(y, divisor));
  const Value right = g.compare(ComparisonDirection::GE, a.re, zero);
  Parts out{g.select(right, sum, other), withSign(g.select(right, other, sum), a.im)};
  const Value infinity = number(kInfinity, a);
  const Parts endless{g.select(right, infinity, zero), withSign(g.select(right, zero, infinity), a.im)};
  out = select(isInfinite(a.re), endless, out);
  return select(isInfinite(a.im), {infinity, a.im}, out);
}

Parts ComplexArithmetic::sinh(Parts a) {
  return {g.multiply(unary("chlo.sinh", a.re), unary("cosine", a.im)),
          g.multiply(unary("chlo.cosh", a.re), unary("sine", a.im))};
}
Parts ComplexArithmetic::cosh(Parts a) {
  return {g.multiply(unary("chlo.cosh", a.re), unary("cosine", a.im)),
          g.multiply(unary("chlo.sinh", a.re), unary("sine", a.im))};
}

Parts ComplexArithmetic::tanh(Parts a) {
  const Value t = unary("tanh", a.re), s = unary("sine", a.im), c = unary("cosine", a.im);
  const Value inverse = g.divide(number(1, a), unary("chlo.cosh", a.re)), slope = g.multiply(inverse, inverse);
  const Value sine = g.multiply(s, t), norm = g.add(g.multiply(c, c), g.multiply(sine, sine));
  const Value far = isInfinite(a.re), zero = number(0, a);
  const Value im =
      g.select(g.compare(ComparisonDirection::EQ, a.im, zero), a.im, g.divide(g.multiply(g.multiply(s, c), slope), norm));
  return {g.select(far, t, g.divide(t, norm)), g.select(far, zero, im)};
}

Parts ComplexArithmetic::sign(Parts a) {
  const Value length = size(a);
  return select(isZero(length), a, divide(a, {length, number(0, a)}));
}

Parts ComplexArithmetic::power(Parts a, Parts b) {
  const Value zero = number(0, a), one = number(1, a), length = size(a), turn = angle(a);
  const Value none = g.compare(ComparisonDirection::EQ, length, zero),
              still = g.compare(ComparisonDirection::EQ, b.im, zero);
  const Value safe = g.select(none, one, length);
  const Value bend = g.select(still, one, unary("exponential", unary("negate", g.multiply(b.im, turn))));
  const Value grown = g.multiply(g.binary("power", safe, b.re), bend);
  const Value along = g.select(still, zero, g.multiply(b.im, unary("log", safe)));
  const Value turned = g.add(along, g.multiply(b.re, turn));
  const Parts out{g.multiply(grown, unary("cosine", turned)), g.multiply(grown, unary("sine", turned))};
  const Value plain = g.binary("and", g.compare(ComparisonDirection::EQ, b.re, zero), still);
  const Value nan = number(std::numeric_limits<double>::quiet_NaN(), a);
  const Value vanishes = g.compare(ComparisonDirection::GT, b.re, zero);
  const Parts ofNone{g.select(plain, one, g.select(vanishes, zero, nan)),
                     g.select(g.binary("or", plain, vanishes), zero, nan)};
  return select(none, ofNone, out);
}

// By the roots of 1 - z and 1 + z, as Kahan writes them: no difference of near numbers is taken but where the argument has one.
Parts ComplexArithmetic::asin(Parts a) {
  const Parts low = sqrt(plus(negate(a), 1)), high = sqrt(plus(a, 1));
  const Value along = g.subtract(g.multiply(low.re, high.re), g.multiply(low.im, high.im));
  const Value across = g.subtract(g.multiply(low.re, high.im), g.multiply(low.im, high.re));
  return {g.binary("atan2", a.re, along), unary("chlo.asinh", across)};
}
Parts ComplexArithmetic::acos(Parts a) {
  const Parts low = sqrt(plus(negate(a), 1)), high = sqrt(plus(a, 1));
  const Value across = g.subtract(g.multiply(high.re, low.im), g.multiply(high.im, low.re));
  return {g.multiply(number(2, a), g.binary("atan2", low.re, high.re)), unary("chlo.asinh", across)};
}
Parts ComplexArithmetic::acosh(Parts a) {
  const Parts low = sqrt(plus(a, -1)), high = sqrt(plus(a, 1));
  const Value along = g.add(g.multiply(low.re, high.re), g.multiply(low.im, high.im));
  return {unary("chlo.asinh", along), g.multiply(number(2, a), g.binary("atan2", low.im, high.re))};
}
Parts ComplexArithmetic::atanh(Parts a) {
  const Value one = number(1, a), x = unary("abs", a.re), less = g.subtract(one, x), square = g.multiply(a.im, a.im);
  const Value distance = g.add(g.multiply(less, less), square);
  const Value grown = unary("log_plus_one", g.divide(g.multiply(number(4, a), x), distance));
  const Value along = g.subtract(g.multiply(less, g.add(one, x)), square);
  return {withSign(g.multiply(number(0.25, a), grown), a.re),
          half(g.binary("atan2", g.multiply(number(2, a), a.im), along))};
}

Parts ComplexArithmetic::function(llvm::StringRef name, Parts a) {
  const Value zero = number(0, a), one = number(1, a);
  if (name == "negate")
    return negate(a);
  if (name == "conj")
    return {a.re, unary("negate", a.im)};
  if (name == "square")
    return multiply(a, a);
  if (name == "exponential")
    return exponential(a);
  if (name == "exponential_minus_one")
    return exponentialMinusOne(a);
  if (name == "log")
    return log(a);
  if (name == "log_plus_one")
    return logPlusOne(a);
  if (name == "sqrt")
    return sqrt(a);
  if (name == "rsqrt")
    return divide({one, zero}, sqrt(a));
  if (name == "logistic") {
    const Parts e = exponential(negate(a));
    return divide({one, zero}, {g.add(one, e.re), e.im});
  }
  if (name == "sinh")
    return sinh(a);
  if (name == "cosh")
    return cosh(a);
  if (name == "tanh")
    return tanh(a);
  if (name == "cosine")
    return cosh(timesI(a));
  if (name == "sine")
    return overI(sinh(timesI(a)));
  if (name == "tan")
    return overI(tanh(timesI(a)));
  if (name == "asin")
    return asin(a);
  if (name == "acos")
    return acos(a);
  if (name == "acosh")
    return acosh(a);
  if (name == "atanh")
    return atanh(a);
  if (name == "asinh")
    return timesI(asin(overI(a)));
  if (name == "atan")
    return overI(atanh(timesI(a)));
  if (name == "sign")
    return sign(a);
  return {};
}

} // namespace glia::emit
