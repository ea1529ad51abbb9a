#include "DecomposeScatter.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

namespace {

// The subtraction that is the whole body, of the update from the element.
mlir::Operation *subtraction(mlir::Block &body) {
  if (body.getNumArguments() != 2 || body.getOperations().size() != 2)
    return nullptr;
  mlir::Operation *inner = &body.front();
  const bool plain = opName(inner) == "subtract" && inner->getOperand(0) == body.getArgument(0) &&
                     inner->getOperand(1) == body.getArgument(1) &&
                     body.getTerminator()->getOperand(0) == inner->getResult(0);
  return plain ? inner : nullptr;
}

} // namespace

void decomposeScatters(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) != "scatter" || op->getNumOperands() != 3)
      continue;
    mlir::Operation *inner = subtraction(op->getRegion(0).front());
    if (!inner)
      continue;
    op->setOperand(2, GraphBuilder(op).unary("negate", op->getOperand(2)));
    inner->getResult(0).replaceAllUsesWith(GraphBuilder(inner).add(inner->getOperand(0), inner->getOperand(1)));
    inner->erase();
  }
}

} // namespace glia::emit
