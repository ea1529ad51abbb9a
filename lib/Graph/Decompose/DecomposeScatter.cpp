#include "DecomposeScatter.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Lower/Rows/Combine.h"
#include "ScatterByPlace.h"
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
    auto scatter = llvm::dyn_cast<graph::ScatterOp>(op);
    if (!scatter)
      continue;
    mlir::Block &body = op->getRegion(0).front();
    if (mlir::Operation *inner = subtraction(body)) {
      op->setOperand(2, GraphBuilder(op).unary("negate", op->getOperand(2)));
      inner->getResult(0).replaceAllUsesWith(GraphBuilder(inner).add(inner->getOperand(0), inner->getOperand(1)));
      inner->erase();
    } else if (std::string why; combinationOf(body, elementOf(op->getResult(0)).isInteger(1), why).empty()) {
      writeByPlace(scatter); // what it does not know is refused by name where it is lowered
    }
  }
}

} // namespace glia::emit
