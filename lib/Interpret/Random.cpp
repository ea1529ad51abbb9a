// rng_bit_generator with the algorithms THREE_FRY and DEFAULT, which is the same here: Threefry-2x32 with 20 rounds on consecutive counters, laid out as XLA does.
#include "Interpret/Rules.h"

#include <array>

namespace glia::interp {

namespace {

using Pair = std::array<uint32_t, 2>;

Pair threefry(Pair key, Pair x) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  x[0] += keys[0];
  x[1] += keys[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (const int r : kRotations[group % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], r) ^ x[0];
    }
    x[0] += keys[(group + 1) % 3];
    x[1] += keys[(group + 2) % 3] + group + 1;
  }
  return x;
}

Pair halves(Word w) { return {static_cast<uint32_t>(w), static_cast<uint32_t>(w >> 32)}; }

// Narrow results come two per counter, side by side along the first dimension of even size, or the largest if there is none.
void generate(Call &c) {
  const std::string algorithm = c.text("rng_algorithm").value_or("");
  const Tensor &state = c.tensor(0);
  Tensor next = c.fresh(0), out = c.fresh(1);
  const ElementInfo &t = info(out.element);
  if ((algorithm != "THREE_FRY" && algorithm != "DEFAULT") || state.element != Element::U64 || state.count() != 2 ||
      t.kind == ElementInfo::Float || t.bits < 32)
    c.fail("only THREE_FRY and DEFAULT with a state of tensor<2xui64> and results of 32 or 64 bits is implemented",
           "Other generators differ between implementations; use jax.random with threefry2x32.");
  const Pair key = halves(state.at(0));
  const Word start = state.at(1);
  const int64_t count = out.count();
  Word *to = out.own();
  int64_t counters = count;
  if (t.bits == 64) {
    for (int64_t i = 0; i < count; ++i) {
      const Pair r = threefry(key, halves(start + static_cast<Word>(i)));
      to[i] = static_cast<Word>(r[1]) << 32 | r[0];
    }
  } else if (count > 0) {
    const Shape shape = out.shape.empty() ? Shape{1} : out.shape;
    size_t split = 0;
    bool even = false;
    for (size_t d = 0; d < shape.size() && !even; ++d) {
      even = shape[d] % 2 == 0;
      split = even || shape[d] > shape[split] ? d : split;
    }
    const int64_t half = (shape[split] + 1) / 2, inner = rowMajor(shape)[split], outer = count / (inner * shape[split]);
    counters = outer * half * inner;
    for (int64_t i = 0; i < counters; ++i) {
      const Pair r = threefry(key, halves(start + static_cast<Word>(i)));
      const int64_t at = i / inner % half, base = i / (inner * half) * shape[split] * inner + i % inner;
      to[base + 2 * at * inner] = r[0];
      if (2 * at + 1 < shape[split])
        to[base + (2 * at + 1) * inner] = r[1];
    }
    settle(out.element, c.inDouble, to, count);
  }
  next.own()[0] = state.at(0);
  next.own()[1] = start + static_cast<Word>(counters);
  c.set(0, std::move(next));
  c.set(1, std::move(out));
}

constexpr Rule kRules[] = {{"stablehlo.rng_bit_generator", generate}};

} // namespace

std::span<const Rule> randomRules() { return kRules; }

} // namespace glia::interp
