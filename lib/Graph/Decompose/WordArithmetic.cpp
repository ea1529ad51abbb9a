#include "WordArithmetic.h"

namespace glia::emit {

using graph::ComparisonDirection;
using Value = mlir::Value;

Words WordArithmetic::number(int64_t value, mlir::RankedTensorType like) {
  const auto type = mlir::RankedTensorType::get(like.getShape(), g.b.getIntegerType(32, false));
  const auto half = [&](uint64_t bits) { return g.number(static_cast<double>(bits & 0xffffffffu), type); };
  return {half(static_cast<uint64_t>(value)), half(static_cast<uint64_t>(value) >> 32)};
}

Words WordArithmetic::add(Words a, Words b) {
  const Value low = g.add(a.low, b.low);
  const Value carry = g.convert(g.compare(ComparisonDirection::LT, low, a.low), elementOf(low));
  return {low, g.add(g.add(a.high, b.high), carry)};
}

Words WordArithmetic::subtract(Words a, Words b) {
  const Value borrow = g.convert(g.compare(ComparisonDirection::LT, a.low, b.low), elementOf(a.low));
  return {g.subtract(a.low, b.low), g.subtract(g.subtract(a.high, b.high), borrow)};
}

Words WordArithmetic::multiply(Words a, Words b) {
  const Value carried = g.binary("chlo.mulhi", a.low, b.low);
  const Value crossed = g.add(g.multiply(a.low, b.high), g.multiply(a.high, b.low));
  return {g.multiply(a.low, b.low), g.add(carried, crossed)};
}

Words WordArithmetic::negate(Words a) { return subtract(number(0, typeOf(a.low)), a); }

Value WordArithmetic::isNegative(Words a) {
  const Value high = asSigned(a.high);
  return g.compare(ComparisonDirection::LT, high, g.number(0, high));
}

Words WordArithmetic::absolute(Words a) { return isSigned ? select(isNegative(a), negate(a), a) : a; }

Words WordArithmetic::sign(Words a) {
  const Value any = g.binary("or", a.low, a.high), none = word(0, any);
  const Value positive = g.convert(g.compare(ComparisonDirection::NE, any, none), elementOf(any));
  const Words made{positive, none};
  return isSigned ? select(isNegative(a), number(-1, typeOf(a.low)), made) : made;
}

Words WordArithmetic::countOfOnes(Words a) {
  return {g.add(g.unary("popcnt", a.low), g.unary("popcnt", a.high)), word(0, a.low)};
}

Words WordArithmetic::countOfLeadingZeros(Words a) {
  const Value upper = g.unary("count_leading_zeros", a.high), zero = word(0, a.low);
  const Value lower = g.add(g.unary("count_leading_zeros", a.low), word(32, a.low));
  return {g.select(g.compare(ComparisonDirection::EQ, a.high, zero), lower, upper), zero};
}

Words WordArithmetic::bits(llvm::StringRef op, Words a, Words b) {
  return {g.binary(op, a.low, b.low), g.binary(op, a.high, b.high)};
}

Value WordArithmetic::shiftBy(Words by) {
  const Value most = word(64, by.low);
  const Value beyond = g.binary("or", g.compare(ComparisonDirection::NE, by.high, word(0, by.high)),
                                g.compare(ComparisonDirection::GT, by.low, most));
  return g.select(beyond, most, by.low);
}

// A shift of a word by 32 or more leaves nothing of it, and 32 - n is such a number where n is more than 32.
Words WordArithmetic::shiftLeft(Words a, Words by) {
  const Value n = shiftBy(by), all = word(32, n);
  const Value over = g.binary("or", g.binary("shift_right_logical", a.low, g.subtract(all, n)),
                              g.binary("shift_left", a.low, g.subtract(n, all)));
  return {g.binary("shift_left", a.low, n), g.binary("or", g.binary("shift_left", a.high, n), over)};
}

Words WordArithmetic::shiftRight(Words a, Words by, bool arithmetic) {
  const Value n = shiftBy(by), all = word(32, n);
  const Value low =
      g.binary("or", g.binary("shift_right_logical", a.low, n), g.binary("shift_left", a.high, g.subtract(all, n)));
  if (!arithmetic)
    return {g.binary("or", low, g.binary("shift_right_logical", a.high, g.subtract(n, all))),
            g.binary("shift_right_logical", a.high, n)};
  const auto moved = [&](Value count) {
    return asUnsigned(g.binary("shift_right_arithmetic", asSigned(a.high), asSigned(count)));
  };
  const Value far = g.compare(ComparisonDirection::GE, n, all);
  return {g.select(far, moved(g.subtract(n, all)), low), moved(n)};
}

Words WordArithmetic::select(Value where, Words a, Words b) {
  return {g.select(where, a.low, b.low), g.select(where, a.high, b.high)};
}

Value WordArithmetic::less(Words a, Words b) {
  const Value above = isSigned ? g.compare(ComparisonDirection::LT, asSigned(a.high), asSigned(b.high))
                               : g.compare(ComparisonDirection::LT, a.high, b.high);
  const Value equal = g.compare(ComparisonDirection::EQ, a.high, b.high);
  return g.binary("or", above, g.binary("and", equal, g.compare(ComparisonDirection::LT, a.low, b.low)));
}

Value WordArithmetic::compare(ComparisonDirection how, Words a, Words b) {
  switch (how) {
  case ComparisonDirection::LT: return less(a, b);
  case ComparisonDirection::GT: return less(b, a);
  case ComparisonDirection::LE: return g.unary("not", less(b, a));
  case ComparisonDirection::GE: return g.unary("not", less(a, b));
  case ComparisonDirection::EQ:
  case ComparisonDirection::NE: break;
  }
  const Value low = g.compare(how, a.low, b.low), high = g.compare(how, a.high, b.high);
  return g.binary(how == ComparisonDirection::EQ ? "and" : "or", low, high);
}

// Both words of the magnitude are whole numbers that f32 holds, since f32 has fewer digits than a word.
Words WordArithmetic::fromFloat(Value x) {
  const mlir::Type f32 = g.b.getF32Type(), unsigned32 = g.b.getIntegerType(32, false);
  x = g.convert(x, f32);
  const Value size = g.unary("floor", g.unary("abs", x));
  const Value high = g.unary("floor", g.multiply(size, g.number(0x1p-32, size)));
  const Value low = g.subtract(size, g.multiply(high, g.number(0x1p32, size)));
  const Words made{g.convert(low, unsigned32), g.convert(high, unsigned32)};
  return isSigned ? select(g.compare(ComparisonDirection::LT, x, g.number(0, x)), negate(made), made) : made;
}

// The magnitude is moved right until a word holds it; what falls off only says, in the last digit, that there was something. So there is one rounding.
Value WordArithmetic::toFloat(Words a, mlir::Type element) {
  const Words size = absolute(a);
  const Value zero = word(0, a.low), all = word(32, a.low);
  const Value by = g.subtract(all, g.unary("count_leading_zeros", size.high));
  const Words moved = shiftRight(size, {by, zero}, false);
  const Value lost = g.binary("shift_left", size.low, g.subtract(all, by)); // all of it if `by` is 32
  const Value rest = g.convert(g.compare(ComparisonDirection::NE, lost, zero), elementOf(zero));
  const Value digits = g.convert(g.binary("or", moved.low, rest), element);
  const Value exponent = g.binary("shift_left", g.add(by, word(127, by)), word(23, by));
  const Value made = g.multiply(digits, g.convert(g.bitcast(exponent, g.b.getF32Type()), element));
  return isSigned ? g.select(isNegative(a), g.unary("negate", made), made) : made;
}

Value WordArithmetic::toIndex(Words a) {
  const Value most = word(0x7fffffff, a.low), zero = word(0, a.low);
  const Value large =
      g.binary("or", g.compare(ComparisonDirection::GT, a.low, most), g.compare(ComparisonDirection::NE, a.high, zero));
  const Value natural = asSigned(g.select(large, most, a.low));
  if (!isSigned)
    return natural;
  const Value small = g.binary("or", g.compare(ComparisonDirection::LE, a.low, most),
                               g.compare(ComparisonDirection::NE, a.high, word(0xffffffffu, a.high)));
  return g.select(isNegative(a), asSigned(g.select(small, word(0x80000000u, a.low), a.low)), natural);
}

} // namespace glia::emit
