// What every stage of a gradient of weighted means needs: panels of both contractions on chip, numbers of rows, and the way of results to HBM.
#pragma once
#include "GradientPlan.h"
#include "Lower/Contract/Epilogue.h"

#include <map>
#include <memory>

namespace glia::emit {

class GradientOperands {
public:
  using Behind = std::vector<std::unique_ptr<Epilogue>>; // of each product
  // `tensors`: in HBM, of terms.
  GradientOperands(KernelBuilder &k, const WeightedGradient &g, const GradientPlan &p, Behind &behind,
                   llvm::function_ref<const Tile *(mlir::Value)> tensors);

  // Of all rows that share columns.
  struct Shared {
    int64_t from = 0, columns = 0;    // which columns: other places of them count from there
    std::vector<Tile> scores, second; // [contract, 1, depth, columns] each
    std::vector<Tile> others;         // of products over columns: [columns, 1, blocks, width]
    Tile blockSums;                   // of columns of the second contraction: [contract, depth, blocks]
    std::map<std::pair<int64_t, int64_t>, Tile> notCounted; // sums of columns of the second contraction outside blocks
    std::vector<Tile> sums;                                 // of products over rows: [columns, blocks, width]
    std::vector<std::vector<bool>> begun;                   // of these: by blocks
    // Columns that count for no row yet: what these rows give them, one number for all columns, is summed before it is multiplied.
    std::vector<Tile> deferred;         // of products over rows: [rows, width]
    std::vector<bool> seen;             // blocks that count for some row, as rows come
    std::vector<std::vector<bool>> met; // of each product: as products come
  };
  // Rows of both contractions: [contract, 1, depth, rows].
  struct Panels {
    Tile scores, second;
  };
  // What is known of 128 rows.
  struct RowNumbers {
    int64_t batch = 0, first = 0, count = 0;
    Tile ofWeights, ofProducts; // sums
    std::map<int, Tile> terms;
  };

  const KeptPlaces places;
  std::shared_ptr<Shared> load(int64_t batch, int64_t from, int64_t columns, bool products = true);
  Panels panels(int64_t batch, int64_t row, int64_t n);
  Tile otherRows(size_t product, int64_t batch, int64_t row, int64_t n); // [rows, width]
  // `body` in the run-time loop of the plan, or once.
  void repeat(llvm::function_ref<void()> body);
  // Rows [from, from + n) of a panel with some columns, in PSUM.
  Tile product(const GradientPlan::Pair &pair, const std::vector<Tile> &columns, const Tile &panel, int64_t from, int64_t n,
               int64_t column, int64_t count);
  // Rows of the second contraction with the sum of all columns that are not in blocks [begin, end).
  Tile productOfOthers(Shared &s, const Tile &panel, int64_t from, int64_t n, int64_t begin, int64_t end);
  Tile term(RowNumbers &rows, int i);         // [rows, 1]
  void leave(const Tile &out, const Tile &x); // PSUM
  // The result of a product: rows, or columns, on partitions.
  void store(size_t product, const Tile &out, int64_t batch, int64_t line);

private:
  KernelBuilder &k;
  const WeightedGradient &g;
  const GradientPlan &p;
  Behind &behind;
  GradientPlan::Pair scores, second; // moving, in a loop
  std::vector<PanelSource> others;
  std::map<int, Tile> tensors; // by term

  void sumBlocks(Shared &s);
  Tile tensorTerm(const RowNumbers &rows, int i);
};

} // namespace glia::emit
