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
void turnHalf(KernelBuilder &k, const Tile &out, const Tile &rows, const Turning &how, int64_t half, int64_t side) {
  const int64_t n = rows.partitions, elements = rows.elements(), whole = elements / side, rest = elements % side;
  const Tile numbers = k.sbuf(DType::F32, n, {elements}), bits = partsOf(rows, DType::U16, half);
  if (how.byScalar)
    k.move(numbers, bits);
  else
    k.activation(numbers, bits, "copy");
  const Tile to = partsOf(out, DType::U16, half), sum = k.psum(std::min(side, elements), {whole + (rest > 0), n});
  for (int64_t i = 0; i * side < elements; ++i) {
    const int64_t m = std::min(side, elements - i * side);
    k.matmul(sum.rows(0, m).index(0, i), numbers.columns(i * side, m), how.identity->rows(0, n).columns(0, n), false, true);
  }
  const bool byScalar = how.shares ? how.shares->scalarTakes(elements) : how.byScalar;
  const auto leave = [&](const Tile &dst, const Tile &src) {
    if (byScalar)
      k.activation(dst, src, "copy");
    else
      k.move(dst, src);
  };
  if (whole)
    leave(to.part(0, 0, whole), sum.part(0, 0, whole));
  if (rest)
    leave(to.rows(0, rest).part(0, whole, 1), sum.rows(0, rest).part(0, whole, 1));
}

// Of blocks that are turned together.
bool tensorTurns(const Turning &how, const Tile &rows, int64_t side) {
  if (!how.identity || !how.shares)
    return how.identity.has_value();
  const int64_t elements = rows.elements(), halves = sizeOf(rows.dtype) / 2;
  return how.shares->tensorTurns((rows.partitions + 31) / 32 * ((elements + 31) / 32),
                                 halves * ((elements + side - 1) / side), halves * elements);
}

} // namespace

bool turnsBytes(const Target &t, DType type) {
  return (sizeOf(type) == 2 || sizeOf(type) == 4) && !t.has("exact_transpose");
}

Tile identityOf(KernelBuilder &k) {
  const Tile places = k.sbuf(DType::I32, kTurnedSide, {kTurnedSide}), out = k.sbuf(DType::F32, kTurnedSide, {kTurnedSide});
  k.iota(places, {1, static_cast<int32_t>(kTurnedSide)}, 0, -1); // column less row
  k.scalar(out, places, "equal", 0);
  return out;
}

void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const Turning &how, int64_t side) {
  for (int64_t from = 0; from < rows.elements(); from += kPerBank * side) {
    const int64_t n = std::min(kPerBank * side, rows.elements() - from);
    const Tile part = rows.columns(from, n), to = out.part(0, from / side, (n + side - 1) / side);
    if (tensorTurns(how, part, side)) {
      for (int64_t half = 0; half < sizeOf(rows.dtype) / 2; ++half)
        turnHalf(k, to, part, how, half, side);
      continue;
    }
    for (int64_t i = 0; i * side < n; ++i) {
      const int64_t m = std::min(side, n - i * side);
      transposeTile(k, to.rows(0, m).index(0, i), part.columns(i * side, m));
    }
  }
}

Tile pairsOf(const Tile &t) {
  Tile out = t;
  out.dtype = DType::U32;
  out.offset = t.offset / 2;
  out.dims.back().count /= 2;
  for (size_t i = 0; i + 1 < out.dims.size(); ++i)
    out.dims[i].stride /= 2;
  return out;
}

} // namespace glia::emit
