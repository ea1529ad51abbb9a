// Writes a gradient of weighted means as a kernel.
#pragma once
#include "GradientProducts.h"

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
  using Rows = GradientRows;

  KernelBuilder &k;
  const WeightedGradient &g;
  const GradientPlan &p;
  GradientOperands operands;
  GradientProducts products;
  const ScoreForm *form = nullptr; // of those that hang on the second contraction
  double masked;
  Tile filled; // scores that are `masked`

  void all();
  std::vector<std::shared_ptr<Rows>> rowsOf() const;
  std::vector<std::shared_ptr<Rows>> rowsOf(int64_t batch, int64_t part) const;
  void run(const std::vector<std::shared_ptr<Rows>> &rows);
  void inParts();
  void measure(const std::vector<std::shared_ptr<Rows>> &rows);
  void join(GradientTotals &totals, int64_t count);
  Steps scoreAgain(const std::shared_ptr<Rows> &r);
  Steps multiplyAgain(const std::shared_ptr<Rows> &r);
  std::vector<ColumnPart> partsOf(const Rows &r) const;
  void weighOthers(Rows &r);
  void begin(Rows &r, const Rows *before);
  std::shared_ptr<GradientProducts::Together> together(const std::vector<std::shared_ptr<Rows>> &rows, size_t from) const;
  int64_t columnsOf(const Rows &r) const;
  Steps score(const std::shared_ptr<Rows> &r);
  void make(Rows &r, const ColumnPart &part, const Tile &lowered);
  void weigh(Rows &r, const Tile &lowered);
  Steps multiply(const std::shared_ptr<Rows> &r);
  void numbers(Rows &r);
  void findSpoilt(Rows &r);
  void addShift(Rows &r, int64_t x, int64_t n);
  Steps shift(const std::shared_ptr<Rows> &r);
};

} // namespace glia::emit
