#include "FoldLogistic.h"
#include "GraphBuilder.h"
#include "glia/Emit/Family.h"

namespace glia::emit {

namespace {

bool isOne(mlir::Value v) { return splatOf(v) == 1.0; }

// y of 1 + exp(y); nothing if that is not what the value is, or if somebody else wants the sum.
mlir::Value exponentOf(mlir::Value sum) {
  mlir::Operation *add = sum.getDefiningOp();
  if (!add || opName(add) != "add" || !sum.hasOneUse())
    return {};
  for (unsigned i : {0u, 1u})
    if (mlir::Operation *e = add->getOperand(i).getDefiningOp();
        e && opName(e) == "exponential" && isOne(add->getOperand(1 - i)))
      return e->getOperand(0);
  return {};
}

} // namespace

void foldLogistics(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) != "divide" || !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))))
      continue;
    const mlir::Value y = exponentOf(op->getOperand(1));
    if (!y)
      continue;
    GraphBuilder g(op);
    mlir::Operation *negation = y.getDefiningOp();
    const mlir::Value x = negation && opName(negation) == "negate" ? negation->getOperand(0) : g.unary("negate", y);
    const mlir::Value logistic = g.unary("logistic", x), a = op->getOperand(0);
    op->getResult(0).replaceAllUsesWith(isOne(a) ? logistic : g.multiply(a, logistic));
    op->erase();
  }
}

} // namespace glia::emit
