// Sums of weights times values, and of the weights, for rows whose weights are made together.
#pragma once
#include "WeightedPlan.h"

namespace glia::emit {

// Where tiles are turned exactly, rows are columns of the sums until all are there: the Tensor engine then takes 512 rows at a time.
// Elsewhere 128 rows at a time are on partitions.
class WeightedSums {
public:
  WeightedSums(KernelBuilder &k, const WeightedPlan &p, int64_t rows);
  // The weights of the rows of blocks [from, to), on the partitions of `values`, which have 1 in their last column. `counted`: each of the
  // values is a sum of so many as its last column says, of one weight.
  void add(int64_t from, int64_t to, const Tile &weights, const Tile &values, bool counted);
  struct Mean {
    Tile sums, total; // rows on partitions
  };
  Mean mean(int64_t block);

private:
  KernelBuilder &k;
  const WeightedPlan &p;
  int64_t rows;
  bool turned, beside;      // the column of ones has room beside the values
  Tile whole, out;          // turned: all sums; the same in SBUF
  std::vector<Tile> blocks; // not turned
  std::vector<bool> begun;
  Tile weights; // added up on each partition, if there is no room for ones

  int64_t limit(int64_t block) const { return std::min(block * kRowBlockOf, rows); }
};

} // namespace glia::emit
