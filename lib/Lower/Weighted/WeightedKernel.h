// Writes a weighted mean as a kernel.
#pragma once
#include "Lower/Contract/Epilogue.h"
#include "WeightedSums.h"

#include <functional>
#include <map>
#include <memory>

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
  // Columns and values on chip.
  struct Shared {
    std::vector<Tile> columns;        // [contract, 1, depth, columns] each
    Tile values;                      // [columns, 1, blocks, width + 1]
    std::map<int64_t, Tile> from, to; // sums of the values of all blocks from, and up to, a block
  };
  // Rows whose weights are made together.
  struct Rows {
    int64_t batch = 0, first = 0, count = 0;
    std::shared_ptr<Shared> shared;
    Tile panel;         // [contract, 1, depth, rows]
    Tile lowered, rest; // the largest scores, below zero: of each block of 128 rows a column; of the last rows
    Tile below;         // the same in pieces: [3, rows]
  };
  using Steps = std::vector<std::function<void()>>;
  enum class Holds : uint8_t { Nowhere, Somewhere, Everywhere };
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
  Epilogue &behind;
  mlir::Location place;
  int64_t depth;                           // blocks of what is contracted
  PanelSource rowSide, columnSide, values; // moving, in a loop
  double masked;                           // before the scale
  Tile ones;                               // three rows
  std::map<std::vector<int64_t>, Tile> masks;
  std::function<void()> unread; // scores that are made and not looked at yet

  void means();
  Holds holds(int64_t row, int64_t rows, int64_t column, int64_t n) const;
  Tile mask(bool turned, int64_t row, int64_t rows, int64_t column, int64_t n);
  std::shared_ptr<Shared> load(int64_t batch);
  Tile panel(const PanelSource &s, int64_t batch, int64_t from, int64_t n);
  Tile piecesOf(const Tile &panel) const { return panel.rows(p.piecesAt, kPieces); }
  Tile columnsAt(const Shared &s, int64_t block, int64_t from, int64_t n) const;
  int64_t deep(int64_t block) const { return std::min(kContract, p.contract - block * kContract); }

  Steps findLargest(Rows &rows);
  void largest(Rows &rows, int64_t block, Steps &steps);
  static Tile lowestOf(const Rows &rows, int64_t block);
  void takeApart(Rows &rows);
  Parts partsOf(const Rows &rows) const;
  void weigh(Rows &rows, const Steps &meanwhile);
  Tile loweredScores(const Rows &rows, int64_t column, int64_t from, int64_t to);
  Tile otherWeights(const Rows &rows);
  Tile sumOfBlocks(Shared &s, int64_t first, int64_t end);
  void store(const WeightedSums::Mean &mean, int64_t batch, int64_t row);
};

} // namespace glia::emit
