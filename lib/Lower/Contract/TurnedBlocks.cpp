#include "TurnedBlocks.h"
#include "OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kSide = 128;  // of a block
constexpr int64_t kPerBank = 4; // blocks that leave PSUM together
constexpr int64_t kSplit = 512; // elements that are taken apart together

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
void turnHalf(KernelBuilder &k, const Tile &out, const Tile &rows, const Tile &identity, int64_t half) {
  const int64_t n = rows.partitions, elements = rows.elements();
  Tile bytes[2];
  for (const int64_t which : {0, 1}) {
    bytes[which] = k.sbuf(DType::BF16, n, {elements});
    k.activation(bytes[which], partsOf(rows, DType::U8, 2 * half + which), "copy", which ? 256.0f : 1.0f);
  }
  const Tile to = partsOf(out, DType::U16, half);
  for (int64_t from = 0; from < elements; from += kPerBank * kSide) {
    const int64_t here = std::min(kPerBank * kSide, elements - from), whole = here / kSide, rest = here % kSide;
    const Tile sum = k.psum(std::min(kSide, here), {whole + (rest > 0), n});
    for (int64_t i = 0; i * kSide < here; ++i) {
      const int64_t m = std::min(kSide, here - i * kSide);
      for (const int64_t which : {0, 1})
        k.matmul(sum.rows(0, m).index(0, i), bytes[which].columns(from + i * kSide, m), identity.rows(0, n).columns(0, n),
                 which > 0);
    }
    const int64_t block = from / kSide;
    if (whole)
      k.move(to.part(0, block, whole), sum.part(0, 0, whole));
    if (rest)
      k.move(to.rows(0, rest).part(0, block + whole, 1), sum.rows(0, rest).part(0, whole, 1));
  }
}

} // namespace

bool turnsBytes(const Target &t, DType type) {
  return (sizeOf(type) == 2 || sizeOf(type) == 4) && !t.has("exact_transpose");
}

Tile identityOf(KernelBuilder &k) {
  const Tile places = k.sbuf(DType::I32, kSide, {kSide}), out = k.sbuf(DType::BF16, kSide, {kSide});
  k.iota(places, {1, static_cast<int32_t>(kSide)}, 0, -1); // column less row
  k.scalar(out, places, "equal", 0);
  return out;
}

void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const std::optional<Tile> &identity) {
  const int64_t elements = rows.elements();
  if (identity) {
    for (int64_t from = 0; from < elements; from += kSplit) {
      const int64_t n = std::min(kSplit, elements - from);
      for (int64_t half = 0; half < sizeOf(rows.dtype) / 2; ++half)
        turnHalf(k, out.part(0, from / kSide, (n + kSide - 1) / kSide), rows.columns(from, n), *identity, half);
    }
    return;
  }
  for (int64_t i = 0; i * kSide < elements; ++i) {
    const int64_t m = std::min(kSide, elements - i * kSide);
    transposeTile(k, out.rows(0, m).index(0, i), rows.columns(i * kSide, m));
  }
}

} // namespace glia::emit
