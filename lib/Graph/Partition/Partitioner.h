// Writes the function of one rank: every operation on local parts, with exchanges where layouts differ.
#pragma once
#include "Propagate.h"
#include "Reshard.h"
#include "glia/Graph/Partition.h"

namespace glia::partition {

class Partitioner {
public:
  Partitioner(mlir::func::FuncOp main, const Mesh &mesh, const Layouts &layouts, const PartitionOptions &options,
              std::vector<std::string> &warnings);
  void run();

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using Builder = emit::GraphBuilder;

  // ---- values ---------------------------------------------------------------------------------------------------------------
  Value get(Builder &g, Value global, const Layout &wanted); // its part in this layout
  Value remake(Builder &g, Value global, const Layout &wanted);
  void set(Builder &g, Value global, Value part, const Layout &layout);
  mlir::Type partType(Value global, const Layout &layout) const { return mesh.localType(global.getType(), layout); }

  // ---- operations -----------------------------------------------------------------------------------------------------------
  Builder builderFor(Operation &op, mlir::Block *to) const;
  void block(mlir::Block &from, mlir::Block *to, llvm::ArrayRef<Layout> returned);
  void operation(Operation &op, mlir::Block *to);
  void whileLoop(Operation &op, mlir::Block *to);
  void branches(Operation &op, mlir::Block *to);
  void manual(Operation &op, mlir::Block *to);
  void divide(Operation &op, mlir::Block *to);
  Assignment choose(Operation &op, const Rule &rule) const;
  Assignment grant(Operation &op, const Rule &rule, bool sumsFirst) const;
  double costOf(Operation &op, const Rule &rule, const Assignment &axes) const;
  void warn(Operation &op, const Rule &rule, const Assignment &axes);

  // ---- one divided operation (DivideOperation.cpp) --------------------------------------------------------------------------
  struct Divided {
    Operation &op;
    const Rule &rule;
    const Assignment &axes;
    llvm::SmallVector<Value> operands; // parts
  };
  Axes summed(const Divided &d) const; // the axes of its sums
  Operation *copy(Builder &g, const Divided &d, llvm::ArrayRef<mlir::Type> types);
  Layout resultLayout(const Divided &d, unsigned i) const {
    return layoutOf(d.rule, d.op.getNumOperands() + i, d.axes, mesh);
  }
  // Puts the parts of a sum together, in the layout that is wanted where that is less work; `now` becomes the layout.
  Value combine(Builder &g, Value part, llvm::StringRef combiner, Axes axes, Layout &now, const Layout &wanted);
  void divideReduce(Builder &g, const Divided &d);
  void divideGather(Builder &g, const Divided &d);
  void divideScatter(Builder &g, const Divided &d);
  void dividePlain(Builder &g, const Divided &d);
  Value shiftIndices(Builder &g, Value indices, int64_t vectorDim, llvm::ArrayRef<int64_t> rowDims,
                     llvm::function_ref<const Axes &(int64_t)> axesOf, llvm::function_ref<int64_t(int64_t)> partSize);
  void copyRegions(Builder &g, Operation &from, mlir::OperationState &to);

  mlir::func::FuncOp main;
  const Mesh &mesh;
  const Layouts &layouts;
  const PartitionOptions &options;
  std::vector<std::string> &warnings;
  mlir::Block *top = nullptr;
  int byHand = 0; // computations for parts that are around
  Exchange exchange;
  llvm::DenseMap<Value, Value> parts; // in the layout that `layouts` has for the value
  struct Made {
    mlir::Block *block;
    Layout layout;
    Value part;
  };
  llvm::DenseMap<Value, llvm::SmallVector<Made, 2>> made; // in other layouts
};

} // namespace glia::partition
