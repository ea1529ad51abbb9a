// How a gradient of weighted means is laid out: rows (of which each has its weights), columns (over which they are), operands of both contractions
// and of the products, and how much of it is on chip at a time.
#pragma once
#include "GradientMatch.h"
#include "Lower/Weighted/WeightedPlan.h"

namespace glia::emit {

struct GradientPlan {
  std::vector<WeightedAxis> batch; // slowest first: those that the columns have too, then other rows, which share columns
  int64_t batches = 1, sharing = 1;
  WeightedAxis row;
  int64_t columns = 1;
  int64_t span = 1; // columns that are on chip at a time
  // Numbers of rows are found before, over all of them, and what has an element for each score is made twice.
  bool inParts() const { return span < columns; }
  std::vector<PlaceCondition> keep;
  struct Pair { // a contraction that has an element for each row and column
    PanelSource rows, columns;
    int64_t contract = 1;
    int64_t depth() const { return blocksOf(contract); }
  };
  Pair scores, second;
  struct Product {
    PanelSource other;          // [columns x width], or [rows x width]
    int64_t width = 1;          // flat size
    std::vector<int> batchDims; // of the result, for each of `batch`; -1: none
    int line = -1;              // of the result: rows, or columns
    std::vector<int> widthDims; // of the result
  };
  std::vector<Product> products;                  // as the match has them
  DType inner = DType::F32, weights = DType::F32; // of what is between; of what the products take
  int64_t together = 1;                           // blocks of rows whose products over the rows are summed together
  bool deep = true;                               // stages of more blocks of rows beside each other
  bool narrow = false;                            // scores are rounded before they are exponentiated
  // Turns in which products over the rows are made beside later blocks of rows.
  int64_t turns() const { return deep && together > 2 ? 2 : 1; }
  // Scores stream past tensors that stay in the array (GradientProducts.h).
  bool streams() const { return weights != DType::F32; }
  // Blocks of rows whose products over the columns are made together, at most.
  int64_t atOnce() const { return streams() && span <= kRowsAtOnce * 4 ? 2 : 1; }
  // Too much for one piece of code: a run-time loop along one of `batch`, so many of it at a time.
  int loop = -1;
  int64_t step = 1;
  int64_t indexOf(int64_t flat, size_t axis) const;      // of a flat index of all of `batch`
  int64_t bytes(const WeightedGradient &g) const;        // of SBUF, per partition
  int64_t instructions(const WeightedGradient &g) const; // about, of what is not in a loop or of one iteration
};

// nullopt: not in this form, or there is no room. `tile` gives the tensors of values; without it sizes only.
std::optional<GradientPlan> planGradient(const WeightedGradient &g, const Target &target,
                                         llvm::function_ref<const Tile *(mlir::Value)> tile = nullptr);

// The gradient that has the product among others, if it is worth a kernel of its own on the target.
std::optional<WeightedGradient> plannedGradient(graph::DotGeneralOp product, const Target &target);

} // namespace glia::emit
