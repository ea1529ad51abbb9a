#include "TurnedBlocks.h"
#include "OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kPerBank = kTurnedTogether; // blocks that are taken apart together, and leave PSUM together

// Part `which` of each element, seen as elements of a narrower type, the lowest one first.
Tile partsOf(const Tile &t, DType type, int64_t which) {
  const int64_t parts = sizeOf(t.dtype) / sizeOf(type);
  Tile out = t;
  out.dtype = type;
  out.offset = parts * t.offset + which;
  for (Tile::Dim &d : out.dims)
    d.stride *= parts;
  return out;
}

// 16 bits of each element: `half` 0, or of 32-bit elements 1 too.
void turnHalf(KernelBuilder &k, const Tile &out, const Tile &rows, const Tile &identity, int64_t half, int64_t side,
              bool byScalar) {
  const int64_t n = rows.partitions, elements = rows.elements();
  Tile bytes[2];
  for (const int64_t which : {0, 1}) {
    bytes[which] = k.sbuf(DType::BF16, n, {elements});
    const Tile part = partsOf(rows, DType::U8, 2 * half + which);
    const float place = which ? 256.0f : 1.0f;
    if (byScalar && which == 0)
      k.scalar(bytes[which], part, "multiply", place);
    else
      k.activation(bytes[which], part, "copy", place);
  }
  const Tile to = partsOf(out, DType::U16, half);
  const auto leave = [&](const Tile &dst, const Tile &src) {
    if (byScalar)
      k.activation(dst, src, "copy");
    else
      k.move(dst, src);
  };
  for (int64_t from = 0; from < elements; from += kPerBank * side) {
    const int64_t here = std::min(kPerBank * side, elements - from), whole = here / side, rest = here % side;
    const Tile sum = k.psum(std::min(side, here), {whole + (rest > 0), n});
    for (int64_t i = 0; i * side < here; ++i) {
      const int64_t m = std::min(side, here - i * side);
      for (const int64_t which : {0, 1})
        k.matmul(sum.rows(0, m).index(0, i), bytes[which].columns(from + i * side, m), identity.rows(0, n).columns(0, n),
                 which > 0);
    }
    const int64_t block = from / side;
    if (whole)
      leave(to.part(0, block, whole), sum.part(0, 0, whole));
    if (rest)
      leave(to.rows(0, rest).part(0, block + whole, 1), sum.rows(0, rest).part(0, whole, 1));
  }
}

} // namespace

bool turnsBytes(const Target &t, DType type) {
  return (sizeOf(type) == 2 || sizeOf(type) == 4) && !t.has("exact_transpose");
}

Tile identityOf(KernelBuilder &k, DType type) {
  const Tile places = k.sbuf(DType::I32, kTurnedSide, {kTurnedSide}), out = k.sbuf(type, kTurnedSide, {kTurnedSide});
  k.iota(places, {1, static_cast<int32_t>(kTurnedSide)}, 0, -1); // column less row
  k.scalar(out, places, "equal", 0);
  return out;
}

void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const std::optional<Tile> &identity, int64_t side,
                bool byScalar) {
  const int64_t elements = rows.elements();
  if (identity) {
    for (int64_t from = 0; from < elements; from += kPerBank * side) {
      const int64_t n = std::min(kPerBank * side, elements - from);
      for (int64_t half = 0; half < sizeOf(rows.dtype) / 2; ++half)
        turnHalf(k, out.part(0, from / side, (n + side - 1) / side), rows.columns(from, n), *identity, half, side, byScalar);
    }
    return;
  }
  for (int64_t i = 0; i * side < elements; ++i) {
    const int64_t m = std::min(side, elements - i * side);
    transposeTile(k, out.rows(0, m).index(0, i), rows.columns(i * side, m));
  }
}

} // namespace glia::emit
