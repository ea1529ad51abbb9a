#include "SineLanes.h"

#include <numbers>

namespace glia::emit {

namespace {

// A small angle less the nearest multiple of 2 pi, in three parts, of which the first two have 8 bits: their products with the turns are
// exact. What is left is rounded, which counts next to pi.
Tile lessTurns(RowsLanes &l, const Tile &x, bool quarterAhead) {
  constexpr float kRound = 0x1.8p23f, kParts[] = {0x1.92p+2f, 0x1.fap-10f, 0x1.54442ep-18f};
  KernelBuilder &k = l.k;
  const Tile turns = l.make(DType::F32, x.elements()), part = l.make(DType::F32, x.elements()),
             r = l.make(DType::F32, x.elements());
  k.scalar(turns, x, "multiply", static_cast<float>(std::numbers::inv_pi / 2), false, "add", quarterAhead ? 0.25f : 0.0f);
  k.scalar(turns, turns, "add", kRound, false, "subtract", kRound);
  if (quarterAhead)
    k.scalar(turns, turns, "subtract", 0.25f);
  for (const float &p : kParts) {
    k.scalar(part, turns, "multiply", p);
    k.tensor(r, &p == kParts ? x : r, part, "subtract");
  }
  return r;
}

// An angle less the nearest multiple of pi, with the sign that an odd multiple turns around: its sine is that of the whole angle, to
// the last bits also where it is small. The cosine is the sine a quarter turn ahead.
class HalfTurns {
public:
  HalfTurns(RowsLanes &l, const Tile &x, bool quarterAhead) : l(l), k(l.k), x(x), ahead(quarterAhead), n(x.elements()) {}

  // pi in three parts. The first two have 16 bits, so that their products with the half turns of a near angle are exact.
  Tile near() {
    constexpr float kRound = 0x1.8p23f, kParts[] = {0x1.921ep+1f, 0x1.b544p-15f, 0x1.0b4612p-33f};
    const Tile turns = make(), count = make(), r = make();
    if (ahead) {
      k.scalar(count, x, "multiply", kPerHalfTurn, false, "add", 0.5f);
      k.scalar(turns, count, "add", kRound);
      k.scalar(count, turns, "subtract", kRound, false, "subtract", 0.5f);
    } else {
      k.scalar(turns, x, "multiply", kPerHalfTurn, false, "add", kRound);
      k.scalar(count, turns, "subtract", kRound);
    }
    addProduct(r, count, -kParts[0], x);
    for (float p : {kParts[1], kParts[2]})
      addProduct(r, count, -p, r);
    const Tile sign = make(DType::I32); // the lowest bit of the rounded number: odd or even
    k.scalar(sign, turns.as(DType::I32), "shift_left", 31.0f);
    k.tensor(r.as(DType::I32), r.as(DType::I32), sign, "bitwise_xor");
    return r;
  }

  // Payne and Hanek: x is m 2^e with a whole m of 24 bits, and of 1 / (2 pi) only the bits count that are not whole turns after a shift
  // by e. The first 32 of them times m, modulo 2^32, is a fraction of a turn in 32 bits; the next 64 give what is to be added, in pieces
  // whose products are exact in fp32, and what is left of it below the last bit.
  Tile far(const Tile &size) {
    window(size);
    const Tile &first = aligned[0], &next = aligned[1], &last = aligned[2];
    const Tile m = make(DType::I32), upper = make(), lower = make();
    k.scalar(m, bits(x), "bitwise_and", 0x7FFFFF, false, "bitwise_or", 0x800000);
    halves(m, upper, lower);
    const Tile middle = make(DType::U32), nextUpper = make(), nextLower = make(), tail = make();
    k.scalar(middle, next, "shift_right", 8.0f);
    halves(middle, nextUpper, nextLower);
    k.scalar(next, next, "bitwise_and", 255.0f);
    addProduct(tail, last, 0x1p-32f, next);

    const Tile turn = make(DType::I32), whole = make(DType::I32), cross = make(), part = make(), rest = make();
    k.tensor(turn, m, bits(first), "multiply");
    k.tensor(whole, upper, nextUpper, "multiply");
    k.tensor(turn, turn, whole, "add");
    k.tensor(cross, lower, nextUpper, "multiply");
    k.tensor(part, upper, nextLower, "multiply");
    k.tensor(cross, cross, part, "add");
    k.scalar(whole, cross, "multiply", 0x1p-12f);
    k.tensor(turn, turn, whole, "add");
    addProduct(rest, whole, -4096.0f, cross);
    k.tensor(part, lower, nextLower, "multiply");
    addProduct(rest, part, 0x1p-12f, rest);
    k.tensor(part, m, tail, "multiply");
    addProduct(rest, part, 0x1p-20f, rest);
    if (ahead)
      k.tensor(turn, turn, l.constant(DType::I32, 0x1p30, n), "add");
    return halfTurn(turn, rest);
  }

private:
  static constexpr float kPerHalfTurn = static_cast<float>(std::numbers::inv_pi);
  RowsLanes &l;
  KernelBuilder &k;
  Tile x;
  bool ahead;
  int64_t n;
  Tile aligned[3]; // bits of 1 / (2 pi): the first is worth half a turn of 2^e

  Tile make(DType t = DType::F32) { return l.make(t, n); }
  // dst = data * factor + other. Two instructions, which may run on two engines.
  void addProduct(const Tile &dst, const Tile &data, float factor, const Tile &other) {
    const Tile product = make();
    k.scalar(product, data, "multiply", factor);
    k.tensor(dst, product, other, "add");
  }
  static Tile bits(const Tile &t) { return t.as(DType::I32); }

  // 22 zeros, then 1 / (2 pi): the window begins at the biased exponent less 128, which is 6 or more.
  void window(const Tile &size) {
    static constexpr uint32_t kBits[] = {0x000000A2, 0xF9836E4E, 0x441529FC, 0x2757D1F5, 0x34DDC0DB, 0x6295993C, 0x439041FE};
    const Tile unsignedBits = x.as(DType::U32);
    const Tile further = make(DType::U32), odd = make(DType::U32), shift = make(DType::U32), back = make(DType::U32);
    k.scalar(further.as(DType::I32), size, "greater_equal", 0x1p65f, false, "multiply", -1.0f); // by two words
    k.scalar(odd, unsignedBits, "shift_right", 28.0f, false, "bitwise_and", 1.0f);              // by one word
    Tile words[5];
    for (int i = 0; i < 5; ++i) {
      words[i] = make(DType::U32);
      k.scalar(words[i], further, "bitwise_and", word(kBits[i] ^ kBits[i + 2]), false, "bitwise_xor", word(kBits[i]));
    }
    for (int i = 0; i < 4; ++i)
      k.select(words[i], odd, words[i + 1]);
    k.scalar(shift, unsignedBits, "shift_right", 23.0f, false, "bitwise_and", 31.0f);
    k.scalar(back, shift, "bitwise_xor", 31.0f);
    // No bit is in both, so that GpSimd can add them where it works beside the Vector engine.
    const std::string_view joins = k.target().has("vector_gpsimd_concurrent") ? "add" : "bitwise_or";
    for (int i = 0; i < 3; ++i) {
      const Tile more = make(DType::U32);
      aligned[i] = words[i];
      k.scalar(more, words[i + 1], "shift_right", 1.0f);
      k.tensor(more, more, back, "shift_right");
      k.tensor(words[i], words[i], shift, "shift_left");
      k.tensor(words[i], words[i], more, joins);
    }
  }
  ScalarOperand word(uint32_t w) { return {l.constant(DType::U32, w, 1)}; }

  // A whole number of 24 bits as upper * 4096 + lower, with lower from -2048 to 2048.
  void halves(const Tile &whole, const Tile &upper, const Tile &lower) {
    const Tile rounded = make(DType::I32);
    k.scalar(rounded, whole, "multiply", 0x1p-12f);
    k.move(upper, rounded);
    addProduct(lower, upper, -4096.0f, whole);
  }

  // turn + rest / 4096, of 2^32 a turn. Without its upper bit the turn is a fraction of half a turn; odd where the two upper bits differ.
  Tile halfTurn(const Tile &turn, const Tile &rest) {
    const Tile half = make(DType::I32), r = make();
    k.scalar(half, turn, "shift_left", 1.0f);
    k.tensor(turn, turn, half, "bitwise_xor");
    if (!ahead)
      k.tensor(turn, turn, bits(x), "bitwise_xor"); // the turn is that of |x|
    k.scalar(turn, turn, "bitwise_and", -0x1p31f);
    addProduct(r, rest, 0x1p-11f, half);
    k.scalar(r, r, "multiply", static_cast<float>(std::numbers::pi * 0x1p-32));
    addProduct(r, x, 0.0f, r); // NaN for infinity
    k.tensor(bits(r), bits(r), turn, "bitwise_xor");
    return r;
  }
};

} // namespace

void sine(RowsLanes &l, const Tile &dst, const Tile &in, bool quarterAhead, Angles angles) {
  KernelBuilder &k = l.k;
  Tile x = in;
  if (in.dtype != DType::F32) {
    x = l.make(DType::F32, dst.elements());
    k.move(x, in);
  }
  if (angles == Angles::Small)
    return k.activation(dst, lessTurns(l, x, quarterAhead), "sin");
  HalfTurns reduction(l, x, quarterAhead);
  const Tile r = reduction.near();
  if (angles == Angles::Any) {
    const Tile size = l.make(DType::F32, dst.elements()), isFar = l.make(DType::U8, dst.elements());
    k.scalar(size, x, "abs", 0.0f);
    k.scalar(isFar, size, "greater", kNearAngle);
    k.select(r, isFar, reduction.far(size));
  }
  k.activation(dst, r, "sin");
}

} // namespace glia::emit
