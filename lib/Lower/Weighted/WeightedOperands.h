// What every way to write a weighted mean needs: columns and values on chip, scores with rows on partitions, the places at which conditions
// hold, and the way of a result to HBM.
#pragma once
#include "Lower/Contract/Epilogue.h"
#include "WeightedSums.h"

#include <map>
#include <memory>

namespace glia::emit {

class WeightedOperands {
public:
  WeightedOperands(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind);

  // Columns and values on chip.
  struct Shared {
    std::vector<Tile> columns;        // [contract, 1, depth, columns] each
    Tile values;                      // [columns, 1, blocks, width + 1]
    std::map<int64_t, Tile> from, to; // sums of the values of all blocks from, and up to, a block
  };
  using Holds = emit::Holds;
  using Part = ColumnPart;

  const int64_t depth; // blocks of what is contracted
  // Where Vector and Scalar take turns at PSUM, Scalar alone reads it: each turn would cost them their latencies.
  const bool scalarReads;
  // Those of one batch, or what is known of the one before.
  std::shared_ptr<Shared> load(int64_t batch);
  Tile rowPanel(int64_t batch, int64_t from, int64_t n);
  // `body` in the run-time loop of the plan, with its register, or once, with -1.
  void repeat(llvm::function_ref<void(int)> body);
  Tile piecesOf(const Tile &panel) const { return panel.rows(p.piecesAt, kPieces); }
  Tile columnsAt(const Shared &s, int64_t block, int64_t from, int64_t n) const; // of one block of what is contracted
  int64_t deep(int64_t block) const { return std::min(kContract, p.contract - block * kContract); }

  Holds holds(int64_t row, int64_t rows, int64_t column, int64_t n) const { return places.holds(row, rows, column, n); }
  // 1 where a condition does not hold: rows on partitions, or turned.
  Tile mask(bool turned, int64_t row, int64_t rows, int64_t column, int64_t n);
  // Those of the columns [from, to) that count for some of the rows, in order, and at most so many together.
  std::vector<Part> partsOf(int64_t row, int64_t rows, int64_t from, int64_t to, int64_t most = kScoreColumns) const {
    return places.partsOf(row, rows, from, to, most);
  }
  std::vector<Part> partsOf(int64_t row, int64_t rows) const { return partsOf(row, rows, 0, p.columns); }
  // Scores of the rows [from, from + n) of a panel, on partitions; in a tile of PSUM, if one is given.
  Tile scores(const Shared &s, const Tile &panel, int64_t from, int64_t n, const Part &part, const Tile &in = {});
  // Of rows and columns from these on, in SBUF: a number where a condition does not hold.
  void keep(const Tile &x, int64_t row, int64_t column, double number) { places.keep(k, x, row, column, number); }
  void leave(const Tile &out, const Tile &x);          // PSUM
  Tile valuesAt(const Shared &s, int64_t block) const; // of a block of columns
  // Tiles whose sum is that of the values of blocks of columns [first, end), of which one end is an end of all.
  std::vector<Tile> sumsOfBlocks(Shared &s, int64_t first, int64_t end);
  // Sums of weights times values, by the sums of the weights; rows on partitions.
  void store(const Tile &sums, const Tile &total, int64_t batch, int64_t row);

private:
  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  Epilogue &behind;
  const KeptPlaces places;
  PanelSource rowSide, columnSide, values; // moving, in a loop
  const int64_t blocksOfSum; // values of so many blocks of columns, and all before or behind them, are added up
  std::map<std::vector<int64_t>, Tile> masks;

  Tile panel(const PanelSource &s, int64_t batch, int64_t from, int64_t n);
  Tile onHalves(const PanelSource &s, int64_t batch, int64_t from, int64_t n, bool both);
  int64_t halfOf(int64_t column) const { return p.halves ? column / kOnHalf % 2 * kHalf : 0; } // its first partition
  void multiply(const Tile &dst, const Tile &stationary, const Tile &moving, bool accumulate);
  Tile sumOfBlocks(Shared &s, int64_t first, int64_t end);
};

} // namespace glia::emit
