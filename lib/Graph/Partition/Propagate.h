// Gives every value of a function a layout: what the user says, spread forward and backward through the rules of operations until nothing
// changes.
#pragma once
#include "Rule.h"

#include "llvm/ADT/DenseMap.h"

namespace glia::partition {

class Layouts {
public:
  // `main` has no calls. Throws Error GRAPH-SHARDING.
  Layouts(mlir::func::FuncOp main, const Mesh &mesh);

  const Layout &of(mlir::Value v) const;
  const Layout &result(unsigned i) const { return nodes[static_cast<size_t>(results[i])].layout; }
  // Of a computation that is written for the parts of devices (sdy.manual_computation): how its operands are wanted, and how its results come.
  Layout entering(mlir::Operation *op, unsigned i) const;
  Layout leaving(mlir::Operation *op, unsigned i) const;

private:
  struct Node {
    mlir::RankedTensorType type; // null for what is no tensor
    Layout layout;
    llvm::SmallVector<bool, 4> open;
    Axes banned; // axes that it may not use
  };
  // Tensors that an operation's rule binds together.
  struct Edge {
    Rule rule;
    std::vector<int> nodes;
  };

  int addNode(mlir::Type type);
  int nodeOf(mlir::Value v);
  void fix(int node, mlir::Attribute sharding, mlir::Operation *at);
  void addBlock(mlir::Block &block);
  void addOperation(mlir::Operation &op);
  void addManual(mlir::Operation &op);
  Layout handPart(mlir::Attribute sharding, mlir::Type global, mlir::Type local, llvm::ArrayRef<int> axes,
                  mlir::Operation &op) const;
  void linkPart(int whole, int part, const Layout &hand);
  void link(std::initializer_list<int> nodes);
  bool visit(const Edge &edge);
  bool extend(Node &node, const Layout &to);
  void spread();

  const Mesh &mesh;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  llvm::DenseMap<mlir::Value, int> number;
  // Of a computation for parts: the axes that its operands and results are divided by hand.
  struct ByHand {
    llvm::SmallVector<Layout> operands, results;
  };
  llvm::DenseMap<mlir::Operation *, ByHand> byHand;
  Axes taken; // axes of the computations for parts that are around
  std::vector<int> results;
};

} // namespace glia::partition
