// Sums of weights times values, and of the weights, for rows whose weights are made together.
#pragma once
#include "WeightedPlan.h"

namespace glia::emit {

// Where tiles are turned exactly and the sums of the weights have room beside the values, rows are columns of the sums until all are there: the
// Tensor engine then takes 512 rows at a time. Else 128 rows at a time are on partitions.
class WeightedSums {
public:
  WeightedSums(KernelBuilder &k, const WeightedPlan &p, int64_t rows);
  // The weights of the rows of blocks [from, to), on the partitions of `values`, whose last column says of how many values each is the sum.
  void add(int64_t from, int64_t to, const Tile &weights, const Tile &values);
  struct Mean {
    Tile sums, total; // rows on partitions
  };
  Mean mean(int64_t block);

private:
  KernelBuilder &k;
  const WeightedPlan &p;
  int64_t rows;
  bool turned;
  Tile whole, out;          // turned: all sums; the same in SBUF
  std::vector<Tile> blocks; // not turned
  std::vector<bool> begun;

  int64_t limit(int64_t block) const { return std::min(block * kRowBlockOf, rows); }
};

} // namespace glia::emit
