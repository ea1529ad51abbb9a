// Writes a weighted mean as a kernel.
#pragma once
#include "WeightedOperands.h"

#include <functional>

namespace glia::emit {

// Scores are made twice: once with rows on partitions, to find the largest of each row, and once with columns on partitions, less the largest of
// their row, which the Tensor engine subtracts too. There they become weights, and lie the way in which they are contracted with the values.
// A column of ones beside the values gives the sums of the weights. The largest scores of the next rows are found while the weights of these
// are made.
class WeightedKernel {
public:
  WeightedKernel(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind);
  void run();

private:
  using Shared = WeightedOperands::Shared;
  using Holds = WeightedOperands::Holds;
  // Rows whose weights are made together.
  struct Rows {
    int64_t batch = 0, first = 0, count = 0;
    std::shared_ptr<Shared> shared;
    Tile panel;         // [contract, 1, depth, rows]
    Tile lowered, rest; // the largest scores, below zero: of each block of 128 rows a column; of the last rows
    Tile below;         // the same in pieces: [3, rows]
  };
  using Steps = std::vector<std::function<void()>>;
  // A block of columns, and for which blocks of rows it counts.
  struct Part {
    int64_t column, count;
    std::vector<Holds> holds;
    int64_t from = 0, to = 0; // the blocks of rows that are not without it
  };
  // Blocks of columns that count for none of the rows, at either end, are one.
  struct Parts {
    int64_t first = 0, end = 0; // blocks of columns between them
    bool others = false;        // some columns count as `masked`
    std::vector<Part> between;
  };

  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  mlir::Location place;
  WeightedOperands operands;
  double masked;                // before the scale
  Tile ones;                    // three rows
  Tile lowest;                  // -inf, on each partition
  std::function<void()> unread; // scores that are made and not looked at yet

  void means();
  Steps findLargest(Rows &rows);
  void largest(Rows &rows, int64_t block, Steps &steps);
  static Tile lowestOf(const Rows &rows, int64_t block);
  void takeApart(Rows &rows);
  Parts partsOf(const Rows &rows) const;
  void weigh(Rows &rows, llvm::function_ref<void(double)> meanwhile); // which is told how much is done
  Tile loweredScores(const Rows &rows, int64_t column, int64_t from, int64_t to);
  Tile otherWeights(const Rows &rows);
};

} // namespace glia::emit
