#include "TurnedBlocks.h"
#include "OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kSide = 128;  // of a block
constexpr int64_t kPerBank = 4; // blocks that leave PSUM together
constexpr int64_t kSplit = 512; // elements that are taken apart together

// Byte `which` of each element, the lower one first.
Tile bytesOf(const Tile &t, int64_t which) {
  Tile out = t;
  out.dtype = DType::U8;
  out.offset = 2 * t.offset + which;
  for (Tile::Dim &d : out.dims)
    d.stride *= 2;
  return out;
}

void turnPiece(KernelBuilder &k, const Tile &out, const Tile &rows, const Tile &identity) {
  const int64_t n = rows.partitions, elements = rows.elements();
  Tile bytes[2];
  for (const int64_t which : {0, 1}) {
    bytes[which] = k.sbuf(DType::BF16, n, {elements});
    k.activation(bytes[which], bytesOf(rows, which), "copy", which ? 256.0f : 1.0f);
  }
  const Tile to = out.as(DType::U16);
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

bool turnsBytes(const Target &t, DType type) { return sizeOf(type) == 2 && !t.has("exact_transpose"); }

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
      turnPiece(k, out.part(0, from / kSide, (n + kSide - 1) / kSide), rows.columns(from, n), *identity);
    }
    return;
  }
  for (int64_t i = 0; i * kSide < elements; ++i) {
    const int64_t m = std::min(kSide, elements - i * kSide);
    transposeTile(k, out.rows(0, m).index(0, i), rows.columns(i * kSide, m));
  }
}

} // namespace glia::emit
