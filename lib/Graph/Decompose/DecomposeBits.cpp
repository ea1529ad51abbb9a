// Operations that look at how a float is stored: neighbours, fewer bits, the total order; and products of which the upper half is wanted.
#include "DecomposeChlo.h"
#include "glia/Lower/Family.h"

#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

using Value = mlir::Value;
using graph::ComparisonDirection;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  int bits = 0, mantissa = 0, exponent = 0;
};
std::optional<Format> formatOf(mlir::Type t) {
  if (t.isF32())
    return Format{32, 23, 8};
  if (t.isBF16())
    return Format{16, 7, 8};
  if (t.isF16())
    return Format{16, 10, 5};
  return std::nullopt;
}

Value isInfinite(GraphBuilder &g, Value x, int sign) {
  if (sign == 0)
    return g.compare(ComparisonDirection::EQ, g.unary("abs", x), g.number(kInfinity, x));
  return g.compare(ComparisonDirection::EQ, x, g.number(sign * kInfinity, x));
}

// Magnitudes are ordered as integers: one more or less.
Value nextAfter(GraphBuilder &g, Value x, Value y, const Format &f) {
  const mlir::Type t = elementOf(x), integer = g.b.getIntegerType(static_cast<unsigned>(f.bits));
  const Value bits = g.bitcast(x, integer), zero = g.number(0, x);
  const Value up = g.compare(ComparisonDirection::GT, y, x), positive = g.compare(ComparisonDirection::GT, x, zero);
  const Value grows = g.unary("not", g.binary("xor", up, positive));
  const Value step = g.select(grows, g.number(1, bits), g.number(-1, bits));
  const Value moved = g.bitcast(g.add(bits, step), t);
  const double least = f.bits == 32 ? 0x1p-149 : f.exponent == 8 ? 0x1p-133 : 0x1p-24;
  const Value fromZero = g.select(up, g.number(least, x), g.number(-least, x));
  const Value next = g.select(g.compare(ComparisonDirection::EQ, x, zero), fromZero, moved);
  const Value same = g.select(g.compare(ComparisonDirection::EQ, x, y), y, next);
  const Value withNan = g.select(g.compare(ComparisonDirection::NE, y, y), y, same);
  return g.select(g.compare(ComparisonDirection::NE, x, x), x, withNan);
}

// Rounds the stored mantissa to nearest even, then cuts the range: too large becomes infinity, what would be subnormal becomes 0.
Value reducePrecision(GraphBuilder &g, Value x, const Format &f, int exponent, int mantissa) {
  const mlir::Type t = elementOf(x), integer = g.b.getIntegerType(static_cast<unsigned>(f.bits), false);
  Value r = x;
  if (mantissa < f.mantissa) {
    const int cut = f.mantissa - mantissa;
    const Value bits = g.bitcast(x, integer);
    const auto number = [&](int64_t n) { return g.number(static_cast<double>(n), bits); };
    const Value last = g.binary("and", g.binary("shift_right_logical", bits, number(cut)), number(1));
    const Value raised = g.add(g.add(bits, last), number((int64_t{1} << (cut - 1)) - 1));
    const int64_t mask = ((int64_t{1} << f.bits) - 1) & ~((int64_t{1} << cut) - 1);
    r = g.select(g.compare(ComparisonDirection::NE, x, x), x, g.bitcast(g.binary("and", raised, number(mask)), t));
  }
  const Value signs = g.bitcast(x, g.b.getIntegerType(static_cast<unsigned>(f.bits)));
  const Value negative = g.compare(ComparisonDirection::LT, signs, g.number(0, signs));
  const auto signedNumber = [&](double n) { return g.select(negative, g.number(-n, x), g.number(n, x)); };
  if (exponent < f.exponent) {
    const int bias = (1 << (exponent - 1)) - 1;
    const double least = std::ldexp(1.0, 1 - bias), most = std::ldexp(2 - std::ldexp(1.0, -mantissa), bias);
    // Below the least normal number there are steps of least / 2^mantissa: half a step below it rounds up.
    const Value size = g.unary("abs", x), rounded = g.unary("abs", r);
    const Value small = g.compare(ComparisonDirection::LT, size, g.number(least, x));
    const Value nearly = g.compare(ComparisonDirection::GE, size, g.number(least - std::ldexp(least, -mantissa - 1), x));
    r = g.select(small, g.select(nearly, signedNumber(least), signedNumber(0)), r);
    r = g.select(g.compare(ComparisonDirection::GT, rounded, g.number(most, x)), signedNumber(kInfinity), r);
  }
  if (mantissa == 0) // no NaN is left, only what lies beside it
    r = g.select(g.compare(ComparisonDirection::NE, x, x), signedNumber(kInfinity), r);
  return r;
}

// -NaN < -infinity < ... < -0 < +0 < ... < NaN: the bits as integers, those of negative numbers the other way round.
Value totalOrder(GraphBuilder &g, Value x, unsigned width) {
  const Value bits = g.bitcast(x, g.b.getIntegerType(width));
  const Value mirrored = g.binary("xor", bits, g.number(static_cast<double>((int64_t{1} << (width - 1)) - 1), bits));
  return g.select(g.compare(ComparisonDirection::LT, bits, g.number(0, bits)), mirrored, bits);
}

Value upperHalf(GraphBuilder &g, Value a, Value b, mlir::IntegerType t) {
  const unsigned width = t.getWidth();
  const auto shift = [&](Value x, int n) { return g.binary("shift_right_logical", x, g.number(n, x)); };
  if (width < 32) {
    const mlir::Type wide = t.isUnsigned() ? g.b.getIntegerType(32, false) : g.b.getI32Type();
    const Value product = g.multiply(g.convert(a, wide), g.convert(b, wide));
    return g.convert(shift(product, static_cast<int>(width)), t);
  }
  const mlir::Type natural = g.b.getIntegerType(32, false);
  const Value x = g.bitcast(a, natural), y = g.bitcast(b, natural), low = g.number(65535, x);
  const Value xl = g.binary("and", x, low), xh = shift(x, 16), yl = g.binary("and", y, low), yh = shift(y, 16);
  const Value p = g.multiply(xl, yl), q = g.multiply(xl, yh), r = g.multiply(xh, yl), s = g.multiply(xh, yh);
  const Value middle = g.add(g.add(shift(p, 16), g.binary("and", q, low)), g.binary("and", r, low));
  Value high = g.add(g.add(g.add(s, shift(q, 16)), shift(r, 16)), shift(middle, 16));
  high = g.bitcast(high, t);
  if (t.isUnsigned())
    return high;
  const Value zero = g.number(0, a);
  const auto less = [&](Value v, Value other) { return g.select(g.compare(ComparisonDirection::LT, v, zero), other, zero); };
  return g.subtract(g.subtract(high, less(a, b)), less(b, a));
}

Value decomposed(mlir::Operation *op, GraphBuilder &g) {
  const llvm::StringRef name = opName(op);
  const Value x = op->getOperand(0);
  const std::optional<Format> f = formatOf(elementOf(x));
  if (name == "mulhi") {
    const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(x));
    return t && t.getWidth() <= 32 ? upperHalf(g, x, op->getOperand(1), t) : Value();
  }
  if (name == "is_inf" || name == "is_pos_inf" || name == "is_neg_inf")
    return isInfinite(g, x, name == "is_inf" ? 0 : name == "is_pos_inf" ? 1 : -1);
  if (auto c = llvm::dyn_cast<graph::CompareOp>(op)) {
    const bool total = c.getCompareType() == graph::ComparisonType::TOTALORDER;
    const Value a = total ? orderedBits(g, x) : Value();
    return a ? g.compare(c.getComparisonDirection(), a, orderedBits(g, op->getOperand(1))) : Value();
  }
  if (!f)
    return {};
  if (name == "next_after")
    return nextAfter(g, x, op->getOperand(1), *f);
  if (auto r = llvm::dyn_cast<graph::ReducePrecisionOp>(op))
    return reducePrecision(g, x, *f, std::min<int>(static_cast<int>(r.getExponentBits()), f->exponent),
                           std::min<int>(static_cast<int>(r.getMantissaBits()), f->mantissa));
  return {};
}

} // namespace

mlir::Value orderedBits(GraphBuilder &g, mlir::Value x) {
  const mlir::Type t = elementOf(x);
  const bool signedBits = t.isF32() || t.isBF16() || t.isF16() ||
                          llvm::isa<mlir::Float8E4M3Type, mlir::Float8E4M3FNType, mlir::Float8E5M2Type>(t);
  return signedBits ? totalOrder(g, x, t.getIntOrFloatBitWidth()) : Value();
}

void decomposeBits(mlir::func::FuncOp main) {
  static constexpr llvm::StringLiteral kNames[] = {"mulhi",      "is_inf",           "is_pos_inf", "is_neg_inf",
                                                   "next_after", "reduce_precision", "compare"};
  for (mlir::Operation *op : programOps(main)) {
    if (!llvm::is_contained(kNames, opName(op)))
      continue;
    GraphBuilder g(op);
    if (const Value made = decomposed(op, g)) {
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
    }
  }
}

} // namespace glia::emit
