// From a graph of whole tensors with shardings to the graph of one of several ranks.
#pragma once
#include "glia/Graph/Graph.h"

#include <string>
#include <vector>

namespace glia {

// Where the parts of a global tensor lie.
struct Placement {
  std::vector<int64_t> globalShape, localShape;
  // Per rank: the first index per dimension of the part that it holds, equal for ranks that hold copies. Empty: each rank has a tensor of
  // its own.
  std::vector<std::vector<int64_t>> start;
  std::string hlo; // the sharding as XLA writes it: "{devices=[4,1,2]<=[8] last_tile_dim_replicate}"
};

struct PartitionedGraph {
  int ranks = 1; // replicas times partitions; rank = replica * partitions + partition
  std::vector<Placement> arguments, results;
  std::vector<std::string>
      warnings; // what is gathered because an operation needs it whole: the operation, its place, the bytes
};

struct PartitionOptions {
  bool strict = false; // what would be a warning is refused
};

// Rewrites the module in place. Afterwards the function `main` has the shapes of parts and no calls, nothing of `sdy` is left, and every exchange
// is a StableHLO collective whose groups are of ranks. A module that says nothing of shardings keeps its shapes, and each rank has arguments of its own; with one
// replica and no exchange in it, all ranks have the same ones. After an error the module is of no use. Throws Error: GRAPH-SHARDING,
// and GRAPH-MAIN, GRAPH-CALL, GRAPH-RECURSION as compileGraph does. docs/sharding.md says what is divided how.
PartitionedGraph partitionGraph(mlir::ModuleOp module, const PartitionOptions &options = {});

// For tools: the pass `partition`, and the dialect `sdy` as graphs are read with it.
void registerPartitionPass();
void insertShardingDialect(mlir::DialectRegistry &registry);

} // namespace glia
