// Writes a gradient of weighted means as a kernel.
#pragma once
#include "GradientOperands.h"

#include <functional>

namespace glia::emit {

// Rows stay on partitions, 128 at a time. Their scores become weights, and these times the second contraction products, whose sum each row needs
// before the products are shifted. Both lie the way in which products over the rows take them; for products over the columns, transfers and the
// Tensor engine turn them. Sums over the rows grow in PSUM over several blocks of rows, and then in SBUF. The stages of neighbouring blocks of rows are
// written between each other, so that engines have something of each at hand.
class GradientKernel {
public:
  GradientKernel(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p, GradientOperands::Behind &behind,
                 llvm::function_ref<const Tile *(mlir::Value)> tensors);
  void run();

private:
  using Steps = std::vector<std::function<void()>>;
  using Shared = GradientOperands::Shared;
  // 128 rows.
  struct Rows : GradientOperands::RowNumbers {
    std::shared_ptr<Shared> shared;
    GradientOperands::Panels panels;
    int64_t at = 0;             // in the panels
    int64_t begin = 0, end = 0; // blocks of columns that count for some of the rows
    int64_t others = 0;         // columns that count for none of them
    bool last = false;          // of those whose products over the rows are summed together
    bool ends = false;          // of those that share columns
    Tile made, lowered;         // what is exponentiated; its largest, below zero
    Tile inner, product;        // weights and products before they are rounded for the products
    Tile weights, gradient;     // as the products take them: [rows, columns]
    Tile other;                 // the weight of a column that does not count: [rows, 128]
    std::vector<Tile> moving;   // of each product over the rows: [rows, width]
  };

  KernelBuilder &k;
  const WeightedGradient &g;
  const GradientPlan &p;
  GradientOperands operands;
  const ScoreForm *form = nullptr; // of those that hang on the second contraction
  double masked;
  double byTransfers; // the share of blocks that transfers turn
  Tile filled;        // scores that are `masked`

  void all();
  std::vector<std::shared_ptr<Rows>> rowsOf() const;
  int64_t columnsOf(const Rows &r) const;
  const Tile &formed(const Rows &r, size_t product) const;
  Tile factor(Rows &r, size_t product);
  Steps score(const std::shared_ptr<Rows> &r);
  void make(Rows &r, const ColumnPart &part, const Tile &lowered);
  void weigh(Rows &r, const Tile &lowered);
  Steps multiply(const std::shared_ptr<Rows> &r);
  void numbers(Rows &r);
  Steps shift(const std::shared_ptr<Rows> &r);
  Steps overColumns(const std::shared_ptr<Rows> &r);
  Steps overRows(const std::vector<std::shared_ptr<Rows>> &rows);
};

} // namespace glia::emit
