// Writes a weighted mean as a kernel.
#pragma once
#include "Lower/Contract/Epilogue.h"
#include "WeightedPlan.h"

#include <map>

namespace glia::emit {

// Scores are made twice: once with rows on partitions, to find the largest of each row, and once with columns on partitions, less the largest of
// their row, which the Tensor engine subtracts too. There they become weights, and lie the way in which they are contracted with the values.
// A column of ones beside the values gives the sums of the weights.
class WeightedKernel {
public:
  WeightedKernel(KernelBuilder &k, const WeightedMean &m, const WeightedPlan &p, Epilogue &behind);
  void run();

private:
  KernelBuilder &k;
  const WeightedMean &m;
  const WeightedPlan &p;
  Epilogue &behind;
  mlir::Location place;
  int64_t depth;             // blocks of what is contracted
  double masked;             // before the scale
  std::vector<Tile> columns; // [contract, 1, depth, columns] each
  Tile values;               // [columns, 1, blocks, width + 1]
  Tile ones;                 // three rows
  std::map<std::vector<int64_t>, Tile> masks;

  enum class Holds : uint8_t { Nowhere, Somewhere, Everywhere };
  Holds holds(int64_t row, int64_t rows, int64_t column, int64_t n) const;
  void loadColumns(int64_t batch);
  Tile columnsAt(int64_t block, int64_t from, int64_t n) const;
  void rowsAt(int64_t batch, int64_t row, int64_t n);
  Tile largest(const Tile &rows, int64_t row, int64_t n);
  Tile inPieces(const std::vector<Tile> &lowered, int64_t n);
  Tile mask(bool turned, int64_t row, int64_t rows, int64_t column, int64_t n);
  void store(const Tile &sum, int64_t batch, int64_t row);
};

} // namespace glia::emit
