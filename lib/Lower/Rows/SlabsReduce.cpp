#include "SlabsReduce.h"
#include "Lower/Contract/OperandTiles.h"

#include <algorithm>

namespace glia::emit {

// Half by half: neighbours stay neighbours, which the engines read faster than what lies apart.
Tile foldRows(KernelBuilder &k, const Tile &data, int64_t rows, int64_t width, std::string_view op) {
  const Tile t = k.sbuf(DType::F32, data.partitions, {(rows + 1) / 2 * width});
  if (rows == 1)
    k.move(t, data);
  Tile from = data;
  for (int64_t n = rows; n > 1;) {
    const int64_t half = n / 2;
    k.tensor(t.columns(0, half * width), from.columns(0, half * width), from.columns((n - half) * width, half * width), op);
    if (n % 2 && from.handle != t.handle)
      k.move(t.columns(half * width, width), from.columns(half * width, width));
    n -= half;
    from = t;
  }
  return t.columns(0, width);
}

// The Tensor engine turns row after row into a bank of PSUM.
static Tile mostByTensor(KernelBuilder &k, const Tile &data, int64_t rows, int64_t width, std::string_view op) {
  const int64_t n = data.partitions, each = std::max<int64_t>(kBank / n, 1), parts = (rows + each - 1) / each;
  const Tile most = k.sbuf(DType::F32, width, {parts});
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t count = std::min(each, rows - part * each);
    const Tile t = k.psum(width, {count * n}, data.dtype);
    for (int64_t i = 0; i < count; ++i)
      k.transpose(t.columns(i * n, n), data.columns((part * each + i) * width, width));
    k.reduce(most.columns(part, 1), t, op);
  }
  if (parts == 1)
    return most;
  const Tile one = k.sbuf(DType::F32, width, {1});
  k.reduce(one, most, op);
  return one;
}

Tile mostPerColumn(KernelBuilder &k, const Tile &data, int64_t rows, int64_t width, std::string_view op) {
  const bool exact = k.target().has("exact_transpose");
  if (exact && sizeOf(data.dtype) != 1)
    return mostByTensor(k, data, rows, width, op);
  const Tile one = foldRows(k, data, rows, width, op);
  if (exact)
    return mostByTensor(k, one, 1, width, op);
  const Tile t = k.sbuf(DType::F32, width, {data.partitions}), most = k.sbuf(DType::F32, width, {1});
  transposeTile(k, t, one);
  k.reduce(most, t, op);
  return most;
}

} // namespace glia::emit
