// Writes exchanges between ranks: what brings the parts of a tensor from one layout to another.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"
#include "Mesh.h"

namespace glia::partition {

class Exchange {
public:
  // `top` is the block that numbers of partitions are looked up in, once for all.
  Exchange(const Mesh &m, mlir::Block *top) : mesh(m), top(top) {}

  // From one layout to another, with as little exchange as the steps allow: parts that are here are cut out, axes that move from one dimension to
  // another go by all_to_all, parts of the same shape by collective_permute, and all_gather does the rest.
  mlir::Value reshard(emit::GraphBuilder &g, mlir::Value part, Layout from, const Layout &to);

  mlir::Value gather(emit::GraphBuilder &g, mlir::Value part, int64_t dim, llvm::ArrayRef<int> axes);
  mlir::Value cut(emit::GraphBuilder &g, mlir::Value part, int64_t dim, llvm::ArrayRef<int> axes);
  mlir::Value allReduce(emit::GraphBuilder &g, mlir::Value part, llvm::StringRef combiner, llvm::ArrayRef<int> axes);
  mlir::Value reduceScatter(emit::GraphBuilder &g, mlir::Value part, llvm::StringRef combiner, int64_t dim,
                            llvm::ArrayRef<int> axes);
  // Of this rank: its index along the axes times `step`, a scalar of this element type.
  mlir::Value start(emit::GraphBuilder &g, llvm::ArrayRef<int> axes, int64_t step, mlir::Type element);

private:
  using Value = mlir::Value;
  mlir::Operation *collective(emit::GraphBuilder &g, llvm::StringRef name, Value part, mlir::Type result,
                              llvm::ArrayRef<int> axes, bool flattened, llvm::ArrayRef<mlir::NamedAttribute> attributes,
                              llvm::StringRef combiner = {});
  Value allToAll(emit::GraphBuilder &g, Value part, int64_t split, int64_t concat, llvm::ArrayRef<int> axes);
  Value permute(emit::GraphBuilder &g, Value part, const Layout &from, const Layout &to);
  bool moveAxes(emit::GraphBuilder &g, Value &part, Layout &now, const Layout &to);
  bool cutNew(emit::GraphBuilder &g, Value &part, Layout &now, const Layout &to);

  const Mesh &mesh;
  mlir::Block *top;
  Value partition; // its number
  std::vector<std::pair<std::vector<int64_t>, Value>> tables;
};

} // namespace glia::partition
