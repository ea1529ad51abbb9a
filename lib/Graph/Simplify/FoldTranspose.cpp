#include "FoldTranspose.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/GraphFacts.h"

namespace glia::emit {

namespace {

using Numbers = llvm::SmallVector<int64_t>;
using Dead = std::vector<mlir::Operation *>; // erased at the end: lists of operations hold them

Numbers mapped(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> permutation) {
  Numbers out;
  for (int64_t d : dims)
    out.push_back(permutation[static_cast<size_t>(d)]);
  return out;
}

Numbers inverse(llvm::ArrayRef<int64_t> permutation) {
  Numbers out(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    out[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return out;
}

struct DotDims {
  Numbers lb, rb, lc, rc;
  explicit DotDims(graph::DotDimensionNumbersAttr n)
      : lb(n.getLhsBatchingDimensions()), rb(n.getRhsBatchingDimensions()), lc(n.getLhsContractingDimensions()),
        rc(n.getRhsContractingDimensions()) {}
  void set(graph::DotGeneralOp op) const {
    op.setDotDimensionNumbersAttr(graph::DotDimensionNumbersAttr::get(op.getContext(), lb, rb, lc, rc));
  }
};

// The result has the free dimensions in the operand's order: a transpose may not change that.
void foldOperand(graph::DotGeneralOp dot, unsigned side) {
  auto transpose = dot->getOperand(side).getDefiningOp<graph::TransposeOp>();
  if (!transpose)
    return;
  DotDims n(dot.getDotDimensionNumbers());
  Numbers &batch = side == 0 ? n.lb : n.rb, &contract = side == 0 ? n.lc : n.rc;
  const llvm::ArrayRef<int64_t> order = transpose.getPermutation();
  if (!llvm::is_sorted(mapped(freeDims(order.size(), batch, contract), order)))
    return;
  batch = mapped(batch, order);
  contract = mapped(contract, order);
  dot->setOperand(side, transpose->getOperand(0));
  n.set(dot);
}

// `op` gives what `transpose` gave: another value than before, so another operation.
void takePlace(mlir::Operation *op, graph::TransposeOp transpose, Dead &dead) {
  mlir::Operation *made = mlir::OpBuilder(op).clone(*op);
  made->getResult(0).setType(llvm::cast<mlir::RankedTensorType>(transpose.getType()));
  transpose->getResult(0).replaceAllUsesWith(made->getResult(0));
  dead.push_back(transpose);
  dead.push_back(op);
}

// [batch, left, right] -> [batch, right, left]: the sides change places.
void foldResult(graph::DotGeneralOp dot, Dead &dead) {
  if (!dot->getResult(0).hasOneUse())
    return;
  auto transpose = llvm::dyn_cast<graph::TransposeOp>(*dot->getResult(0).user_begin());
  if (!transpose)
    return;
  const DotDims n(dot.getDotDimensionNumbers());
  const size_t batch = n.lb.size(), rank = transpose.getPermutation().size(),
               left = typeOf(dot->getOperand(0)).getShape().size() - batch - n.lc.size();
  Numbers swapped;
  for (size_t d = 0; d < batch; ++d)
    swapped.push_back(static_cast<int64_t>(d));
  for (size_t d = batch + left; d < rank; ++d)
    swapped.push_back(static_cast<int64_t>(d));
  for (size_t d = batch; d < batch + left; ++d)
    swapped.push_back(static_cast<int64_t>(d));
  if (transpose.getPermutation() != llvm::ArrayRef<int64_t>(swapped))
    return;
  const mlir::Value a = dot->getOperand(0), b = dot->getOperand(1);
  dot->setOperand(0, b);
  dot->setOperand(1, a);
  DotDims other = n;
  std::swap(other.lb, other.rb);
  std::swap(other.lc, other.rc);
  other.set(dot);
  if (auto precision = dot->getAttrOfType<mlir::ArrayAttr>("precision_config"); precision && precision.size() == 2)
    dot->setAttr("precision_config", mlir::ArrayAttr::get(dot.getContext(), {precision[1], precision[0]}));
  takePlace(dot, transpose, dead);
}

void fold(graph::ConvolutionOp op, Dead &dead) {
  const graph::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  const auto orderOf = [](graph::TransposeOp t, int64_t rank) {
    Numbers order;
    for (int64_t d = 0; d < rank; ++d)
      order.push_back(t ? t.getPermutation()[static_cast<size_t>(d)] : d);
    return order;
  };
  const auto rank = static_cast<int64_t>(n.getInputSpatialDimensions().size()) + 2;
  auto lhs = op->getOperand(0).getDefiningOp<graph::TransposeOp>(),
       rhs = op->getOperand(1).getDefiningOp<graph::TransposeOp>();
  graph::TransposeOp out;
  if (op->getResult(0).hasOneUse())
    out = llvm::dyn_cast<graph::TransposeOp>(*op->getResult(0).user_begin());
  if (!lhs && !rhs && !out)
    return;
  const Numbers l = orderOf(lhs, rank), r = orderOf(rhs, rank), o = inverse(orderOf(out, rank));
  op.setDimensionNumbersAttr(graph::ConvDimensionNumbersAttr::get(
      op.getContext(), l[n.getInputBatchDimension()], l[n.getInputFeatureDimension()],
      mapped(n.getInputSpatialDimensions(), l), r[n.getKernelInputFeatureDimension()],
      r[n.getKernelOutputFeatureDimension()], mapped(n.getKernelSpatialDimensions(), r), o[n.getOutputBatchDimension()],
      o[n.getOutputFeatureDimension()], mapped(n.getOutputSpatialDimensions(), o)));
  if (lhs)
    op->setOperand(0, lhs->getOperand(0));
  if (rhs)
    op->setOperand(1, rhs->getOperand(0));
  if (out)
    takePlace(op, out, dead);
}

} // namespace

void foldTransposes(mlir::func::FuncOp main) {
  Dead dead;
  for (mlir::Operation *op : programOps(main)) {
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op)) {
      foldOperand(dot, 0);
      foldOperand(dot, 1);
    } else if (auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op)) {
      fold(convolution, dead);
    }
  }
  for (mlir::Operation *op : programOps(main))
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      foldResult(dot, dead);
  for (mlir::Operation *op : dead)
    op->erase();
}

} // namespace glia::emit
