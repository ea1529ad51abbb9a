// Rows of a contraction's left operand that are made on chip, 128 at a time, right before they are turned: a normalisation in front of a
// linear layer. They never go to HBM.
#pragma once
#include "Lower/Rows/RowsKernel.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

// Operations that make the left operand of the contraction and that nobody else needs, in program order; empty if its rows are
// better read from HBM. One of them reduces rows: what is only pointwise is done by whoever computes what it reads.
std::vector<mlir::Operation *> rowsBefore(graph::DotGeneralOp dot);

// Those of a group's operations that its contraction depends on.
std::vector<mlir::Operation *> madeBefore(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot);

class MadeRows {
public:
  // `ops` are those of madeBefore; the group's inputs are the tiles' tensors.
  MadeRows(KernelBuilder &k, const Group &g, std::vector<mlir::Operation *> ops, graph::DotGeneralOp dot,
           std::span<const Tile> inputs);
  int64_t bytes() const { return need; } // per partition
  Tile shape() const;                    // of the operand, as if it lay in HBM
  // Rows [first, first + n), all of the contraction, n <= 128.
  Tile rows(DType type, int64_t first, int64_t n);

private:
  KernelBuilder &k;
  Group group;
  mlir::Value value;
  int64_t need = 0;
  RowsKernel kernel;
  Tile last; // and which rows it holds
  int64_t lastFirst = -1;
};

} // namespace glia::emit
