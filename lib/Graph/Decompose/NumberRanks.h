// Replicas and partitions become ranks, numbered replica * partitions + partition, and the number of a rank becomes the last argument of the function.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

struct RankCounts {
  int64_t replicas = 1, partitions = 1;
  int64_t ranks() const { return replicas * partitions; }
};
// What the module says; throws Error GRAPH-RANKS for counts that no machine has.
RankCounts rankCounts(mlir::ModuleOp module);

inline constexpr llvm::StringLiteral kRankArgument = "glia.rank"; // marks the argument
void numberRanks(mlir::func::FuncOp main);

} // namespace glia::emit
