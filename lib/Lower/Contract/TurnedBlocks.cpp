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

// At most four blocks, 16 bits of each element at a time. The halves of a 32-bit element meet in PSUM, so that they leave it together.
void turnByProducts(KernelBuilder &k, const Tile &out, const Tile &rows, const Turning &how, int64_t side) {
  const int64_t n = rows.partitions, elements = rows.elements(), halves = sizeOf(rows.dtype) / 2;
  Tile numbers[2], to = partsOf(out, DType::U16, 0);
  to.dims.push_back({1, halves});
  for (int64_t half = 0; half < halves; ++half) {
    numbers[half] = k.sbuf(DType::F32, n, {elements});
    if (how.byScalar && !how.scalarAlone)
      k.move(numbers[half], partsOf(rows, DType::U16, half));
    else
      k.activation(numbers[half], partsOf(rows, DType::U16, half), "copy");
  }
  for (int64_t from = 0; from < elements; from += kPerBank / halves * side) {
    const int64_t here = std::min(kPerBank / halves * side, elements - from), whole = here / side, rest = here % side,
                  block = from / side;
    const Tile sum = k.psum(std::min(side, here), {whole + (rest > 0), n, halves});
    for (int64_t i = 0; i * side < here; ++i) {
      const int64_t m = std::min(side, here - i * side);
      for (int64_t half = 0; half < halves; ++half)
        k.matmul(sum.rows(0, m).index(0, i).index(1, half), numbers[half].columns(from + i * side, m),
                 how.identity->rows(0, n).columns(0, n), false, true);
    }
    const bool byScalar = how.shares ? how.shares->scalarTakes(halves * here) : how.byScalar || how.scalarAlone;
    const auto leave = [&](const Tile &dst, const Tile &src) {
      if (byScalar)
        k.activation(dst, src, "copy");
      else
        k.move(dst, src);
    };
    if (whole)
      leave(to.part(0, block, whole), sum.part(0, 0, whole));
    if (rest)
      leave(to.rows(0, rest).part(0, block + whole, 1), sum.rows(0, rest).part(0, whole, 1));
  }
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
      turnByProducts(k, to, part, how, side);
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
