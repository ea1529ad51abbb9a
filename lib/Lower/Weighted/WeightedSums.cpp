#include "WeightedSums.h"

#include <algorithm>

namespace glia::emit {

WeightedSums::WeightedSums(KernelBuilder &k, int64_t rows, int64_t wide, int64_t at)
    : k(k), rows(rows), wide(wide), at(at), turned(k.target().has("exact_transpose") && wide <= kContract) {
  const int64_t count = blocksOf(rows, kRowBlockOf);
  begun.assign(static_cast<size_t>(count), false);
  if (turned) {
    whole = k.psum(wide, {rows}, DType::F32, at);
    return;
  }
  const int64_t share = std::max<int64_t>(1, kBank / wide); // of a bank
  for (int64_t i = 0; i < count; i += share) {
    const int64_t here = std::min(share, count - i);
    const Tile bank = k.psum(limit(i + 1) - limit(i), {here * wide});
    for (int64_t j = 0; j < here; ++j)
      blocks.push_back(bank.rows(0, limit(i + j + 1) - limit(i + j)).columns(j * wide, wide));
  }
}

void WeightedSums::add(int64_t from, int64_t to, const Tile &weights, const Tile &values) {
  for (int64_t b = from; b < to;) {
    int64_t end = b + 1; // blocks that are begun alike are one product
    while (turned && end < to && begun[static_cast<size_t>(end)] == begun[static_cast<size_t>(b)])
      ++end;
    const Tile mine = weights.columns(limit(b) - limit(from), limit(end) - limit(b));
    if (turned)
      k.matmul(whole.columns(limit(b), limit(end) - limit(b)), values, mine, begun[static_cast<size_t>(b)]);
    else
      k.matmul(blocks[static_cast<size_t>(b)], mine, values, begun[static_cast<size_t>(b)]);
    for (; b < end; ++b)
      begun[static_cast<size_t>(b)] = true;
  }
}

Tile WeightedSums::of(int64_t block) {
  if (!turned)
    return blocks[static_cast<size_t>(block)];
  if (out.handle < 0) {
    out = k.sbuf(DType::F32, wide, {rows});
    k.move(out, whole);
  }
  const int64_t n = limit(block + 1) - limit(block);
  // In the place of those that have left it.
  const Tile back = k.psum(n, {wide}, DType::F32, at < 0 ? -1 : at + block * wide * sizeOf(DType::F32));
  k.transpose(back, out.columns(limit(block), n));
  return back;
}

} // namespace glia::emit
