// The products of a gradient of weighted means: what has an element for each score, with tensors, over rows and over columns.
#pragma once
#include "GradientOperands.h"

#include <functional>

namespace glia::emit {

using Steps = std::vector<std::function<void()>>;

// What 128 rows need from one part of the columns to the next.
struct GradientTotals {
  Tile lowered, ofWeights, ofProducts; // of the parts before, and of one: [rows, 2]
  std::map<int, Tile> terms;
  std::vector<std::vector<Tile>> sums; // of products over the columns
};

// 128 rows.
struct GradientRows : GradientOperands::RowNumbers {
  std::shared_ptr<GradientOperands::Shared> shared;
  std::shared_ptr<GradientTotals> totals;  // if columns come in parts
  int64_t part = 0, from = 0, columns = 0; // these columns: other places of them count from there
  GradientOperands::Panels panels;
  int64_t at = 0;             // in the panels
  int64_t begin = 0, end = 0; // blocks of columns that count for some of the rows
  int64_t others = 0;         // columns that count for none of them
  bool last = false;          // of those whose products over the rows are summed together
  bool ends = false;          // of those that share columns
  bool measured = false;      // only their numbers are found
  bool complete = true;       // behind these columns there are no others
  Tile shift;                 // of their products, one for each row
  Tile made, lowered;         // what is exponentiated; its largest, below zero
  // Where turning multiplies: all bits, or none of a row where something is not finite; 0, or NaN.
  Tile finite, finiteHalf, spoilt;
  Tile inner, product;      // weights and products before they are rounded for the products
  Tile weights, gradient;   // as the products take them: [rows, columns]
  Tile other;               // the weight of a column that does not count: [rows, 128]
  std::vector<Tile> moving; // of each product over the rows: [rows, width]
  std::vector<Tile> before,
      after; // of each product over the rows: what rows up to these give to columns that count for none of them
  bool counts(int64_t column) const { return begin <= column && column < end; } // a block
};

// A product keeps one of its operands in the array while the other streams. Narrow numbers stream faster than others are loaded: there the tensor stays,
// whole rows of scores stream, and sums are turned at the end. fp32 loads as fast as it streams: there scores stay, and sums lie as they are stored.
class GradientProducts {
public:
  using Rows = std::shared_ptr<GradientRows>;
  GradientProducts(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p, GradientOperands &operands);

  // Blocks of rows whose products over the columns are made together.
  struct Together {
    std::vector<Rows> rows;
    int64_t begin = 0, end = 0, count = 0; // blocks of columns that count for some of them; rows
    Tile turned;                           // [columns, blocks, rows]
  };
  Steps turn(const std::shared_ptr<Together> &t, size_t i);
  Steps overColumns(const std::shared_ptr<Together> &t);
  // What the rows give to columns that count for none up to them.
  void defer(GradientRows &r);
  // Over the rows of several blocks.
  Steps overRows(const std::vector<Rows> &rows);

private:
  KernelBuilder &k;
  const WeightedGradient &g;
  const GradientPlan &p;
  GradientOperands &operands;
  bool streams, exact; // exact: turning moves bits
  double byTransfers;  // the share of blocks that transfers turn
  Tile nought, one;    // [rows, columns]
  Turning turning;     // of sums, bit by bit

  // Of blocks of columns [first, end): those of one kind together.
  using Kind = std::function<int(int64_t)>;
  static void runs(int64_t first, int64_t end, const Kind &kind, llvm::function_ref<void(int64_t, int64_t)> run);
  static int64_t columnsUpTo(const GradientRows &r, int64_t block) { return std::min(block * kContract, r.columns); }
  const Tile &formed(const GradientRows &r, size_t product) const;
  Tile otherOf(const GradientRows &r, size_t product);
  const Tile &ones();
  void turnBlock(const Tile &out, const Tile &x);
  Tile finiteOf(const GradientRows &r, int64_t from, int64_t n);
  void turnSums(const Tile &out, const Tile &sums, const ScalarOperand &factor);
  void finish(const Together &t, size_t product, const std::vector<Tile> &sums);
  void addSums(GradientRows &r, size_t product, std::vector<Tile> &sums);
  void storeRows(GradientRows &r, size_t product, const std::vector<Tile> &sums);
  void stream(const std::vector<Rows> &rows, size_t product, int64_t first, int64_t end);
  void stay(const std::vector<Rows> &rows, size_t product, int64_t first, int64_t end);
  void keep(const std::vector<Rows> &rows, size_t product, const Tile &sums, const Tile &bank, int64_t first,
            const std::vector<bool> &some);
};

} // namespace glia::emit
