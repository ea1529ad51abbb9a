// Quotients of 64-bit integers in two words: digits of 16 bits, each guessed from the leading digit of the divisor and corrected at most
// twice. (Knuth, The Art of Computer Programming 2, 4.3.1.)
#include "WordArithmetic.h"

namespace glia::emit {

using graph::ComparisonDirection;
using Value = mlir::Value;

// By a word that is above the high word of a, so that the quotient is a word.
Value WordArithmetic::divideShort(Words a, Value by) {
  const auto shift = [&](Value x, Value n, bool left) {
    return g.binary(left ? "shift_left" : "shift_right_logical", x, n);
  };
  const Value sixteen = word(16, by), half = word(0xffff, by), one = word(1, by), zero = word(0, by);
  const auto upper = [&](Value x) { return shift(x, sixteen, false); };
  const auto lower = [&](Value x) { return g.binary("and", x, half); };
  // The divisor's highest bit is set; what is moved out by 32 is gone.
  const Value up = g.unary("count_leading_zeros", by), d = shift(by, up, true);
  const Value high =
      g.binary("or", shift(a.high, up, true), shift(a.low, g.subtract(word(32, up), up), false)); // a shift by 32 gives 0
  const Value low = shift(a.low, up, true), d1 = upper(d), d0 = lower(d);
  const auto digit = [&](Value rest, Value next) {
    Value q = g.divide(rest, d1), r = g.subtract(rest, g.multiply(q, d1));
    for (int i = 0; i < 2; ++i) {
      // Once the rest has more than a digit, the guess is right.
      const Value large =
          g.binary("or", g.compare(ComparisonDirection::GT, q, half),
                   g.compare(ComparisonDirection::GT, g.multiply(q, d0), g.binary("or", shift(r, sixteen, true), next)));
      const Value wrong = g.binary("and", large, g.compare(ComparisonDirection::LE, r, half));
      q = g.subtract(q, g.select(wrong, one, zero));
      r = g.add(r, g.select(wrong, d1, zero));
    }
    return q;
  };
  const Value q1 = digit(high, upper(low));
  const Value rest = g.subtract(g.binary("or", shift(high, sixteen, true), upper(low)), g.multiply(q1, d));
  const Value q0 = digit(rest, lower(low));
  return g.binary("or", shift(q1, sixteen, true), q0);
}

// A divisor of one word leaves two digits in base 2^32. Of a larger one, the leading word says the quotient, or one more than it.
WordArithmetic::Division WordArithmetic::divideMagnitudes(Words a, Words b) {
  WordArithmetic u(g, false);
  const Value zero = word(0, a.low), one = word(1, a.low);
  const Value small = g.compare(ComparisonDirection::EQ, b.high, zero);
  const Value divisor = g.select(g.compare(ComparisonDirection::EQ, b.low, zero), one, b.low); // by zero is settled later
  const Value first = g.divide(a.high, divisor), left = g.subtract(a.high, g.multiply(first, divisor));
  const Value up = g.unary("count_leading_zeros", b.high);
  const Words halved = u.shiftRight(a, {one, zero}, false);
  const Value leading = u.shiftLeft(b, {up, zero}).high;
  const Value guess = u.divideShort(u.select(small, {a.low, left}, halved), g.select(small, divisor, leading));
  const Words shortQuotient{guess, first};
  // (guess << up) >> 31, one less
  const Value moved = g.binary("shift_right_logical", guess, g.subtract(word(31, up), g.select(small, zero, up)));
  const Value most = g.select(g.compare(ComparisonDirection::EQ, moved, zero), zero, g.subtract(moved, one));
  const Words less{most, zero}, rest = u.subtract(a, u.multiply(less, b));
  const Value again = u.compare(ComparisonDirection::GE, rest, b);
  const Words longQuotient{g.add(most, g.convert(again, elementOf(most))), zero};
  const Words quotient = u.select(small, shortQuotient, longQuotient);
  return {quotient, u.subtract(a, u.multiply(quotient, b))};
}

WordArithmetic::Division WordArithmetic::divide(Words a, Words b) {
  Division made = divideMagnitudes(absolute(a), absolute(b));
  if (isSigned) {
    const Value opposite = g.binary("xor", isNegative(a), isNegative(b));
    made.quotient = select(opposite, negate(made.quotient), made.quotient);
    made.rest = select(isNegative(a), negate(made.rest), made.rest);
  }
  const Value any = g.binary("or", b.low, b.high), none = g.compare(ComparisonDirection::EQ, any, word(0, any));
  return {select(none, number(-1, typeOf(a.low)), made.quotient), select(none, a, made.rest)};
}

} // namespace glia::emit
