// A contraction and operations behind it that need whole rows of its result: a softmax of scores, a normalisation. All columns of
// 128 rows are on chip before the operations run, and only what others read is stored.
#pragma once
#include "ContractPlan.h"

namespace glia::emit {

struct WholeRowsPlan {
  RowsPlan rows;
  // What the rows are of: the contraction's sums, rounded to their type, or what one operation with a number makes of them on their way
  // from PSUM.
  mlir::Value input;
  mlir::Operation *scaled = nullptr;
};

// `ops` are the contraction and others in program order, a reduction of its rows among them. nullopt: they are not one kernel.
std::optional<WholeRowsPlan> planWholeRows(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot);

void writeWholeRows(KernelBuilder &k, const Group &g, graph::DotGeneralOp dot, WholeRowsPlan whole,
                    std::span<const Tile> inputs, std::span<const Tile> outputs);

} // namespace glia::emit
