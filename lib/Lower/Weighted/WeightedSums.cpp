#include "WeightedSums.h"

#include <algorithm>

namespace glia::emit {

WeightedSums::WeightedSums(KernelBuilder &k, int64_t rows, int64_t wide, const Tile &in) : k(k), rows(rows) {
  const int64_t count = blocksOf(rows, kRowBlockOf), share = std::max<int64_t>(1, kBank / wide); // of a bank
  begun.assign(static_cast<size_t>(count), false);
  for (int64_t i = 0; i < count; i += share) {
    const int64_t here = std::min(share, count - i), down = limit(i + 1) - limit(i);
    const Tile bank = in.handle < 0 ? k.psum(down, {here * wide}) : in.rows(0, down).columns(i * wide, here * wide);
    for (int64_t j = 0; j < here; ++j)
      blocks.push_back(bank.rows(0, limit(i + j + 1) - limit(i + j)).columns(j * wide, wide));
  }
}

void WeightedSums::add(int64_t from, int64_t to, const Tile &weights, const Tile &values) {
  const bool inBlocks = weights.dims.size() > 1;
  for (int64_t b = from; b < to; ++b) {
    const int64_t n = limit(b + 1) - limit(b);
    const Tile mine = inBlocks ? weights.index(0, b - from).columns(0, n) : weights.columns(limit(b) - limit(from), n);
    k.matmul(blocks[static_cast<size_t>(b)], mine, values, begun[static_cast<size_t>(b)]);
    begun[static_cast<size_t>(b)] = true;
  }
}

} // namespace glia::emit
