// A contraction and operations behind it that need whole rows of its result: a softmax of scores, a normalisation. All columns of
// 128 rows are on chip before the operations run, and only what others read is stored.
#pragma once
#include "ContractPlan.h"

namespace glia::emit {

// `ops` are the contraction and others in program order, a reduction of its rows among them. nullopt: they are not one kernel.
std::optional<RowsPlan> planWholeRows(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot);

void writeWholeRows(KernelBuilder &k, const Group &g, graph::DotGeneralOp dot, RowsPlan rows, std::span<const Tile> inputs,
                    std::span<const Tile> outputs);

} // namespace glia::emit
