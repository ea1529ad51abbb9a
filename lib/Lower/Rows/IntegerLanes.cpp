#include "IntegerLanes.h"
#include "glia/ISA/AluRules.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>

namespace glia::emit {

DType widened(DType t) { return info(t).isSigned ? DType::I32 : DType::U32; }

void lowBytes(KernelBuilder &k, const Tile &dst, const Tile &wide) {
  Tile low = wide;
  const int64_t step = sizeOf(wide.dtype) / sizeOf(dst.dtype);
  low.dtype = dst.dtype;
  low.offset *= step;
  for (Tile::Dim &d : low.dims)
    d.stride *= step;
  k.move(dst, low);
}

namespace {

class Integers {
public:
  Integers(RowsLanes &l, const Tile &dst) : l(l), k(l.k), dst(dst), t(dst.dtype), n(dst.elements()) {}
  using Lanes = llvm::ArrayRef<Lane>;

  void add(Lanes in) { arithmetic(in[0], in[1], "add"); }
  void subtract(Lanes in) { arithmetic(in[0], in[1], "subtract"); }
  void multiply(Lanes in) { arithmetic(in[0], in[1], "multiply"); }
  void square(Lanes in) { arithmetic(in[0], in[0], "multiply"); }

  void negate(Lanes in) {
    if (isWide(t))
      return k.tensor(dst, l.constant(t, 0, n), l.at(in[0], n), "subtract");
    const Tile w = make(DType::I32);
    k.scalar(w, l.at(in[0], n), "multiply", -1.0f);
    lowBytes(k, dst, w);
  }

  void abs(Lanes in) {
    if (!info(t).isSigned)
      return k.move(dst, l.at(in[0], n));
    if (isWide(t))
      return k.move(dst.as(DType::U32), magnitude(in[0]));
    const Tile w = make(DType::I32);
    k.scalar(w, l.at(in[0], n), "abs", 0.0f);
    lowBytes(k, dst, w); // the smallest one stays
  }

  // Conversion to fp32 keeps the sign of a number, and zero.
  void sign(Lanes in) { k.scalar(dst, l.at(in[0], n), "max", -1.0f, false, "min", 1.0f); }

  void divide(Lanes in) { isWide(t) ? wideQuotient(in[0], in[1], false) : narrowQuotient(in[0], in[1], false); }
  void remainder(Lanes in) { isWide(t) ? wideQuotient(in[0], in[1], true) : narrowQuotient(in[0], in[1], true); }

  // The engine shifts 32-bit words: what leaves a narrower type is cut off, and a count of 32 or more leaves nothing.
  void shiftLeft(Lanes in) { l.bits(dst, in[0], in[1], "shift_left"); }
  void shiftRightLogical(Lanes in) { l.bits(dst, in[0], in[1], "shift_right"); }
  // The complement of a negative number shifts in zeros; complemented again they are the ones that belong there.
  void shiftRightArithmetic(Lanes in) {
    const Tile signs = signMask(in[0], t), x = make(t);
    k.tensor(x, l.at(in[0], n), signs, "bitwise_xor");
    l.bits(x, laneOf(x), in[1], "shift_right");
    k.tensor(dst, x, signs, "bitwise_xor");
  }

  // With the bit below each one cleared the conversion to fp32 cannot carry into the next power of two: its exponent is the place of
  // the first one.
  void countLeadingZeros(Lanes in) {
    const Tile x = zeroExtended(in[0]), y = make(DType::U32), f = make(DType::F32);
    k.scalar(y, x, "shift_right", 1.0f, false, "bitwise_not", 0.0f);
    k.tensor(y, x, y, "bitwise_and");
    k.move(f, y);
    k.scalar(y, f.as(DType::U32), "shift_right", 23.0f);
    const int width = 8 * sizeOf(t);
    k.scalar(y, y, "multiply", -1.0f, false, "add", static_cast<float>(126 + width)); // of 0: more than the width
    k.scalar(dst, y, "min", static_cast<float>(width));
  }

  // Sums of adjacent bits, pairs, fours, then across the bytes.
  void populationCount(Lanes in) {
    const Tile x = make(DType::U32), y = make(DType::U32);
    const auto mask = [&](uint32_t m) { return ScalarOperand(l.constant(DType::U32, m, 1)); };
    const Tile from = zeroExtended(in[0]);
    k.scalar(y, from, "shift_right", 1.0f, false, "bitwise_and", mask(0x55555555));
    k.tensor(x, from, y, "subtract");
    k.scalar(y, x, "shift_right", 2.0f, false, "bitwise_and", mask(0x33333333));
    k.scalar(x, x, "bitwise_and", mask(0x33333333));
    k.tensor(x, x, y, "add");
    k.scalar(y, x, "shift_right", 4.0f);
    k.tensor(x, x, y, "add");
    k.scalar(x, x, "bitwise_and", mask(0x0F0F0F0F));
    for (float shift : {8.0f, 16.0f}) {
      k.scalar(y, x, "shift_right", shift);
      k.tensor(x, x, y, "add");
    }
    k.scalar(x, x, "bitwise_and", 63.0f);
    k.move(dst, x);
  }

  // Square and multiply, bit by bit of the exponent.
  void power(Lanes in) {
    const Lane &base = in[0], &exponent = in[1];
    if (exponent.splat && *exponent.splat >= 0)
      return constantPower(base, static_cast<uint64_t>(*exponent.splat));
    const DType w = widened(t);
    const Tile e = extended(exponent), result = make(w), factor = make(w), product = make(w), bit = make(DType::U32);
    k.move(factor, extended(base));
    k.move(result, l.constant(w, 1, n));
    const int steps = 8 * sizeOf(t) - info(t).isSigned;
    for (int i = 0; i < steps; ++i) {
      k.scalar(bit, e, "shift_right", static_cast<float>(i), false, "bitwise_and", 1.0f);
      k.tensor(product, result, factor, "multiply");
      k.select(result, bit, product);
      if (i + 1 < steps)
        k.tensor(factor, factor, factor, "multiply");
    }
    if (info(t).isSigned)
      negativePower(result, base, e);
    narrow(dst, result);
  }

private:
  RowsLanes &l;
  KernelBuilder &k;
  Tile dst;
  DType t;
  int64_t n;

  Tile make(DType type) { return l.make(type, n); }
  Lane laneOf(const Tile &tile) const {
    Lane out;
    out.tile = tile;
    out.type = tile.dtype;
    out.row = n == 1;
    return out;
  }
  void narrow(const Tile &to, const Tile &wide) {
    if (sizeOf(to.dtype) == 4)
      k.move(to.as(wide.dtype), wide);
    else
      lowBytes(k, to, wide);
  }

  // As 32 bits, with the type's own sign, or none.
  Tile extended(const Lane &v) {
    if (isWide(v.type))
      return l.at(v, n);
    const Tile w = make(widened(v.type));
    k.move(w, l.at(v, n));
    return w;
  }
  Tile zeroExtended(const Lane &v) {
    Tile x = l.at(v, n);
    x.dtype = sizeOf(t) == 4 ? DType::U32 : sizeOf(t) == 2 ? DType::U16 : DType::U8;
    if (sizeOf(t) == 4)
      return x;
    const Tile w = make(DType::U32);
    k.move(w, x);
    return w;
  }

  // -1 where a number is negative, else 0.
  Tile signMask(const Lane &v, DType type) {
    Tile x = l.at(v, n);
    if (!info(x.dtype).isSigned)
      x.dtype = x.dtype == DType::U32 ? DType::I32 : x.dtype == DType::U16 ? DType::I16 : DType::I8;
    Tile m = make(type);
    const Tile written = type == DType::U32   ? m.as(DType::I32)
                         : type == DType::U16 ? m.as(DType::I16)
                         : type == DType::U8  ? m.as(DType::I8)
                                              : m;
    k.scalar(written, x, "less", 0.0f, false, "multiply", -1.0f);
    return m;
  }

  void arithmetic(const Lane &a, const Lane &b, std::string_view op) {
    if (isWide(t))
      return k.tensor(dst, l.at(a, n), l.at(b, n), op);
    if (sizeOf(t) == 2 && op == "multiply") { // up to 32 bits
      const Tile w = make(widened(t));
      k.tensor(w, extended(a), extended(b), op);
      return lowBytes(k, dst, w);
    }
    const Tile w = make(DType::I32);
    l.binary(w, a, b, op);
    lowBytes(k, dst, w);
  }

  // |x| as u32; of the smallest number as well.
  Tile magnitude(const Lane &v) {
    if (!info(v.type).isSigned)
      return l.at(v, n);
    const Tile m = make(DType::I32);
    k.tensor(m, l.constant(DType::I32, 0, n), l.at(v, n), "subtract");
    k.tensor(m, l.at(v, n), m, "max");
    return m.as(DType::U32);
  }

  // (|a| + 1/2) / |b| is at least 1 / 2b away from every whole number, more than the error of fp32 for 16 bits, so rounding it less
  // 1/2 to the nearest gives the quotient. By zero: the product of the signs is 0, and so is the quotient before the last step.
  void narrowQuotient(const Lane &a, const Lane &b, bool rest) {
    const Tile x = make(DType::F32), y = make(DType::F32), signs = make(DType::F32), q = make(DType::I32);
    const Tile av = l.at(a, n), bv = l.at(b, n);
    k.scalar(x, av, "abs", 0.0f, false, "add", 0.5f);
    k.scalar(y, bv, "abs", 0.0f);
    k.reciprocal(y, y);
    k.tensor(x, x, y, "multiply");
    k.scalar(q, x, "subtract", 0.5f);
    k.tensor(signs, av, bv, "multiply");
    k.scalar(signs, signs, "max", -1.0f, false, "min", 1.0f);
    k.tensor(y, q, signs, "multiply");
    if (rest) {
      k.tensor(y, y, bv, "multiply");
      k.tensor(q, av, y, "subtract");
    } else {
      k.scalar(x, bv, "equal", 0.0f);
      k.tensor(q, y, x, "subtract"); // all bits
    }
    lowBytes(k, dst, q);
  }

  // A quotient from fp32, a little too small, leaves a rest that is not negative; the quotient of that rest, likewise, leaves less than
  // twice the divisor. Errors: conversion of both, reciprocal, two products and a difference, less than 2^-21 together, against the
  // 2^-20 that is taken off.
  void wideQuotient(const Lane &a, const Lane &b, bool rest) {
    constexpr float kLess = 1 - 0x1p-20f;
    const bool known = b.splat && *b.splat != 0;
    const Tile x = magnitude(a), y = magnitude(b);
    const Tile inverse = make(DType::F32), left = make(DType::U32), part = make(DType::U32), times = make(DType::U32),
               guess = make(DType::F32), q = make(DType::U32);
    k.reciprocal(inverse, y);
    k.scalar(inverse, inverse, "multiply", kLess);
    const auto step = [&](const Tile &from, const Tile &to) {
      k.tensor(guess, from, inverse, "multiply");
      k.scalar(to, guess, "subtract", 0.5f);
      k.tensor(times, to, y, "multiply");
      k.tensor(left, from, times, "subtract");
    };
    step(x, q);
    step(left, part);
    const Tile more = make(DType::U32);
    k.tensor(more, left, y, "greater_equal");
    if (rest) {
      k.tensor(times, more, y, "multiply");
      k.tensor(left, left, times, "subtract"); // by zero: the dividend is left
      return withSign(left, info(t).isSigned ? std::optional(signMask(a, DType::I32)) : std::nullopt);
    }
    k.tensor(q, q, part, "add");
    k.tensor(q, q, more, "add");
    std::optional<Tile> negative;
    if (info(t).isSigned) {
      const Tile product = make(DType::F32);
      negative = make(DType::I32);
      k.tensor(product, l.at(a, n), l.at(b, n), "multiply");
      k.scalar(*negative, product, "less", 0.0f, false, "multiply", -1.0f);
    }
    withSign(q, negative);
    if (known)
      return;
    const Tile zero = make(DType::U8);
    k.scalar(zero, l.at(b, n), "equal", 0.0f);
    k.select(dst, zero, l.constant(t, info(t).isSigned ? -1.0 : 0x1p32 - 1, n));
  }

  void withSign(const Tile &x, const std::optional<Tile> &negative) {
    if (!negative)
      return k.move(dst.as(DType::U32), x);
    k.tensor(x.as(DType::I32), x.as(DType::I32), *negative, "bitwise_xor");
    k.tensor(dst, x.as(DType::I32), *negative, "subtract");
  }

  void constantPower(const Lane &base, uint64_t exponent) {
    const DType w = widened(t);
    if (exponent == 0)
      return k.move(dst, l.constant(t, 1, n));
    Tile factor = extended(base), result;
    for (; exponent; exponent >>= 1) {
      if (exponent & 1) {
        if (result.handle < 0) {
          result = factor;
        } else {
          const Tile next = make(w);
          k.tensor(next, result, factor, "multiply");
          result = next;
        }
      }
      if (exponent > 1) {
        const Tile next = make(w);
        k.tensor(next, factor, factor, "multiply");
        factor = next;
      }
    }
    narrow(dst, result);
  }

  // 1 / power toward zero: 1 and -1 stay what they are, of 0 all bits are set, of anything else 0.
  void negativePower(const Tile &result, const Lane &base, const Tile &e) {
    const Tile value = make(DType::F32), part = make(DType::F32), odd = make(DType::I32), where = make(DType::U8),
               whole = make(DType::I32);
    const Tile b = extended(base);
    k.scalar(odd, e, "bitwise_and", 1.0f);
    k.scalar(value, odd, "multiply", -2.0f, false, "add", 1.0f);
    k.scalar(part, b, "equal", -1.0f);
    k.tensor(value, value, part, "multiply");
    k.scalar(part, b, "equal", 1.0f);
    k.tensor(value, value, part, "add");
    k.scalar(part, b, "equal", 0.0f);
    k.tensor(whole, value, part, "subtract");
    k.scalar(where, e, "less", 0.0f);
    k.select(result, where, whole);
  }
};

struct Known {
  llvm::StringLiteral name;
  void (Integers::*write)(llvm::ArrayRef<Lane>);
};
constexpr Known kKnown[] = {
    {"add", &Integers::add},
    {"subtract", &Integers::subtract},
    {"multiply", &Integers::multiply},
    {"square", &Integers::square},
    {"negate", &Integers::negate},
    {"abs", &Integers::abs},
    {"sign", &Integers::sign},
    {"divide", &Integers::divide},
    {"remainder", &Integers::remainder},
    {"power", &Integers::power},
    {"shift_left", &Integers::shiftLeft},
    {"shift_right_logical", &Integers::shiftRightLogical},
    {"shift_right_arithmetic", &Integers::shiftRightArithmetic},
    {"count_leading_zeros", &Integers::countLeadingZeros},
    {"popcnt", &Integers::populationCount},
};

const Known *find(llvm::StringRef name) {
  for (const Known &o : kKnown)
    if (o.name == name)
      return &o;
  return nullptr;
}

} // namespace

bool isIntegerOperation(mlir::Operation *op) {
  if (op->getNumOperands() == 0)
    return false;
  const mlir::Type t = llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getElementType();
  return llvm::isa<mlir::IntegerType>(t) && !t.isInteger(1) && find(opName(op));
}

void integerPointwise(RowsLanes &lanes, mlir::Operation *op, llvm::ArrayRef<Lane> in, const Tile &dst) {
  (Integers(lanes, dst).*find(opName(op))->write)(in);
}

} // namespace glia::emit
