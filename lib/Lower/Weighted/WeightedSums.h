// Sums of weights times values for rows whose weights are multiplied together.
#pragma once
#include "WeightedPlan.h"

namespace glia::emit {

// Where tiles are turned exactly and the values fit the array, rows are columns of the sums until all are there: the
// Tensor engine then takes 512 rows at a time. Else 128 rows at a time are on partitions.
class WeightedSums {
public:
  // `in`: a tile of PSUM for sums whose rows are columns, and for what they are turned to.
  WeightedSums(KernelBuilder &k, int64_t rows, int64_t wide, const Tile &in = {});
  // The weights of the rows of blocks [from, to), on the partitions of `values`, which has `wide` columns. The rows may have blocks as a
  // dimension.
  void add(int64_t from, int64_t to, const Tile &weights, const Tile &values);
  bool has(int64_t block) const { return begun[static_cast<size_t>(block)]; }
  Tile of(int64_t block); // rows on partitions

private:
  KernelBuilder &k;
  int64_t rows, wide;
  Tile in;
  bool turned;
  Tile whole, out;          // turned: all sums; the same in SBUF
  std::vector<Tile> blocks; // not turned
  std::vector<bool> begun;

  int64_t limit(int64_t block) const { return std::min(block * kRowBlockOf, rows); }
};

} // namespace glia::emit
