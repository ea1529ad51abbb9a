// Sums of weights times values for rows whose weights are multiplied together.
#pragma once
#include "WeightedPlan.h"

namespace glia::emit {

// 128 rows at a time are on partitions: the weights stay in the array while the values, of which there are fewer than rows, pass through it.
class WeightedSums {
public:
  // `in`: a tile of PSUM with room for all of them.
  WeightedSums(KernelBuilder &k, int64_t rows, int64_t wide, const Tile &in = {});
  // The weights of the rows of blocks [from, to), on the partitions of `values`, which has `wide` columns. The rows may have blocks as a
  // dimension.
  void add(int64_t from, int64_t to, const Tile &weights, const Tile &values);
  bool has(int64_t block) const { return begun[static_cast<size_t>(block)]; }
  const Tile &of(int64_t block) const { return blocks[static_cast<size_t>(block)]; } // rows on partitions

private:
  KernelBuilder &k;
  int64_t rows;
  std::vector<Tile> blocks;
  std::vector<bool> begun;

  int64_t limit(int64_t block) const { return std::min(block * kRowBlockOf, rows); }
};

} // namespace glia::emit
