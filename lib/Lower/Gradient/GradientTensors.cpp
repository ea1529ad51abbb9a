// What a gradient of weighted means reads from HBM.
#include "GradientMatch.h"
#include "Graph/Analysis/GraphFacts.h"

namespace glia::emit {

mlir::Value WeightedGradient::tensorOf(mlir::Value operand) const {
  mlir::Operation *op = operand.getDefiningOp();
  return op && beside.contains(op) && opName(op) == "convert" ? op->getOperand(0) : operand;
}

bool WeightedGradient::readsWhatIsThere() const {
  graph::DotGeneralOp begin = products.front().dot;
  mlir::Operation *first = begin;
  std::vector<mlir::Value> tensors;
  for (graph::DotGeneralOp dot : {scores, second})
    tensors.insert(tensors.end(), {tensorOf(dot->getOperand(0)), tensorOf(dot->getOperand(1))});
  for (const Product &p : products) {
    graph::DotGeneralOp dot = p.dot;
    tensors.push_back(tensorOf(dot->getOperand(1 - p.side)));
  }
  for (int i = 0; i < static_cast<int>(terms.size()); ++i)
    if (terms[i].kind == RowTerm::Tensor)
      tensors.push_back(terms[i].source);
  for (mlir::Value v : tensors)
    if (mlir::Operation *from = v.getDefiningOp(); from && (ops.contains(from) || beside.contains(from)))
      return false;
  const auto isThere = [&](mlir::Operation *op) {
    return llvm::all_of(op->getOperands(), [&](mlir::Value v) {
      mlir::Operation *from = rootOf(v).getDefiningOp();
      return !from || splatOf(v) || ops.contains(from) || beside.contains(from) || from->isBeforeInBlock(first);
    });
  };
  return llvm::all_of(ops, isThere) && llvm::all_of(beside, isThere);
}

} // namespace glia::emit
