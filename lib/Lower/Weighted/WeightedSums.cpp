#include "WeightedSums.h"

#include <algorithm>

namespace glia::emit {

WeightedSums::WeightedSums(KernelBuilder &k, int64_t rows, int64_t wide, const Tile &in)
    : k(k), rows(rows), wide(wide), in(in), turned(k.target().has("exact_transpose") && wide <= kContract) {
  const int64_t count = blocksOf(rows, kRowBlockOf);
  begun.assign(static_cast<size_t>(count), false);
  if (turned) {
    whole = in.handle < 0 ? k.psum(wide, {rows}) : in.rows(0, wide).columns(0, rows);
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
  const bool inBlocks = weights.dims.size() > 1;
  const auto isWhole = [&](int64_t b) { return limit(b + 1) - limit(b) == kRowBlockOf; };
  for (int64_t b = from; b < to;) {
    int64_t end = b + 1; // blocks that are begun alike are one product
    while (turned && end < to && begun[static_cast<size_t>(end)] == begun[static_cast<size_t>(b)] &&
           (!inBlocks || isWhole(end)))
      ++end;
    const int64_t n = limit(end) - limit(b);
    const Tile mine = !inBlocks      ? weights.columns(limit(b) - limit(from), n)
                      : end == b + 1 ? weights.index(0, b - from).columns(0, n)
                                     : weights.part(0, b - from, end - b);
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
  const Tile back = in.handle < 0 ? k.psum(n, {wide}) : in.rows(0, n).columns(block * wide, wide);
  k.transpose(back, out.columns(limit(block), n));
  return back;
}

} // namespace glia::emit
