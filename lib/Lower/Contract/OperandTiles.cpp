#include "OperandTiles.h"

#include <algorithm>

namespace glia::emit {

namespace {

// Transposes move bits. Where the Tensor engine multiplies to do so (NaN and infinity would spread), the Vector engine does
// blocks of 32 x 32, from one group of 32 partitions to another.
void transposeByBlocks(KernelBuilder &k, const Tile &dst, const Tile &src) {
  const int64_t P = src.partitions, F = src.elements();
  for (int64_t p = 0; p < P; p += 32)
    for (int64_t f = 0; f < F; f += 32) {
      const int64_t np = std::min<int64_t>(32, P - p), nf = std::min<int64_t>(32, F - f);
      k.transpose(dst.rows(f, nf).columns(p, np), src.rows(p, np).columns(f, nf));
    }
}

} // namespace

void transposeTile(KernelBuilder &k, const Tile &dst, const Tile &src) {
  const bool exact =
      k.target().has("exact_transpose") && (sizeOf(src.dtype) == 4 || src.dtype == DType::BF16 || src.dtype == DType::F16);
  if (!exact)
    return transposeByBlocks(k, dst, src);
  const Tile s = sizeOf(src.dtype) == 4 ? src.as(DType::F32) : src, d = sizeOf(dst.dtype) == 4 ? dst.as(DType::F32) : dst;
  const Tile p = k.psum(dst.partitions, {src.partitions}, s.dtype);
  k.transpose(p, s);
  k.move(d, p);
}

Tile loadBlock(KernelBuilder &k, const Tile &matrix, int64_t r, int64_t n, int64_t c, int64_t m, DType t) {
  const Tile block = matrix.part(0, r, n).part(1, c, m);
  const int64_t rowStride = matrix.dims[0].stride, columnStride = matrix.dims[1].stride;
  const Tile out = k.sbuf(t, n, {m});
  if (columnStride == 1 || m == 1 || rowStride != 1 || n == 1) {
    k.copy(out, block);
    return out;
  }
  for (int64_t from = 0; from < m; from += 128) {
    const int64_t count = std::min<int64_t>(128, m - from);
    const Tile turned = k.sbuf(t, count, {n});
    k.copy(turned, block.part(1, from, count).permuted({1, 0}));
    transposeTile(k, out.columns(from, count), turned);
  }
  return out;
}

} // namespace glia::emit
