#include "FoldSigns.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

#include <cmath>

namespace glia::emit {

namespace {

using Value = mlir::Value;

mlir::Operation *madeBy(Value v, llvm::StringRef name) {
  mlir::Operation *op = v.getDefiningOp();
  return op && opName(op) == name ? op : nullptr;
}

struct Scaled {
  double number;
  Value of;
};
Scaled scaledOf(Value v) {
  if (mlir::Operation *op = madeBy(v, "multiply"))
    for (unsigned i : {0u, 1u})
      if (const std::optional<double> n = splatOf(op->getOperand(i)))
        return {*n, op->getOperand(1 - i)};
  return {1, v};
}

// The new value; nothing if the selection is none of these.
Value folded(mlir::Operation *select) {
  auto compare = select->getOperand(0).getDefiningOp<graph::CompareOp>();
  if (!compare || splatOf(compare->getOperand(1)) != 0.0)
    return {};
  const auto how = compare.getComparisonDirection();
  const bool above = how == graph::ComparisonDirection::GT;
  const Value x = compare->getOperand(0), yes = select->getOperand(1), no = select->getOperand(2);
  if (!above && how != graph::ComparisonDirection::GE)
    return {};
  GraphBuilder g(select);
  if (above && splatOf(yes) == 0.0 && no == x)
    return g.binary("minimum", yes, x);
  if (yes != x)
    return {};
  const Scaled other = scaledOf(no);
  if (other.of == x && other.number >= 0x1p-20 && other.number <= 1)
    return g.binary("maximum", x, no);
  mlir::Operation *expm1 = madeBy(other.of, "exponential_minus_one");
  mlir::Operation *least = expm1 ? madeBy(expm1->getOperand(0), "minimum") : nullptr;
  if (least && splatOf(least->getOperand(0)) == 0.0 && least->getOperand(1) == x && other.number >= 1 &&
      std::isfinite(other.number))
    return g.add(g.binary("maximum", least->getOperand(0), x), no);
  return {};
}

} // namespace

void foldSigns(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) != "select" || !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))) ||
        typeOf(op->getOperand(0)).getShape() != typeOf(op->getResult(0)).getShape())
      continue;
    if (const Value made = folded(op)) {
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
    }
  }
}

} // namespace glia::emit
