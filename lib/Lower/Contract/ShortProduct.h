// A product with a short contraction beside a longer one of the same shape (an update of low rank): its operands are on chip as a whole,
// and a block of it is made where the epilogue of the other needs it.
#pragma once
#include "OperandPanels.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

struct Block;

// Whether the operation is one beside the contraction that gives `root`.
bool isShortProduct(mlir::Operation *op, mlir::Value root);
int64_t shortProductBytes(graph::DotGeneralOp op); // per partition, for its operands

class ShortProduct {
public:
  ShortProduct(graph::DotGeneralOp op, const Tile &lhs, const Tile &rhs);
  // Of an operand, 0 or 1, over the dimensions of the result.
  const std::vector<int64_t> &strides(size_t side) const { return along[side]; }
  // The sums of a block of `rows` rows and `columns` columns, in PSUM.
  Tile block(KernelBuilder &k, const Block &b, int64_t rows, int64_t columns);

private:
  graph::DotGeneralOp op;
  PanelSource sources[2];
  std::vector<int64_t> along[2];
  std::optional<Tile> panels[2]; // [contraction, elements]
  Tile load(KernelBuilder &k, size_t side, const Dims &free);
};

} // namespace glia::emit
