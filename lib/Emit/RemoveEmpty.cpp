#include "RemoveEmpty.h"
#include "GraphBuilder.h"
#include "GraphFacts.h"
#include "glia/Emit/Family.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace glia::emit {

namespace {

mlir::Value repeated(GraphBuilder &g, mlir::Value scalar, mlir::Value like) {
  return g.broadcast(scalar, {}, withElement(like, elementOf(scalar)));
}

// What the results are if an operand has no elements; empty if the operation is as it should be.
llvm::SmallVector<mlir::Value> leftOf(mlir::Operation *op) {
  GraphBuilder g(op);
  const llvm::StringRef name = opName(op);
  const auto operand = [&](unsigned i) { return op->getOperand(i); };
  const unsigned results = op->getNumResults();
  llvm::SmallVector<mlir::Value> out;
  if (name == "concatenate") {
    llvm::SmallVector<mlir::Value> parts;
    for (mlir::Value v : op->getOperands())
      if (!isEmpty(v))
        parts.push_back(v);
    out.push_back(parts.size() == 1 ? parts[0] : g.make(name, parts, op->getResult(0).getType(), op->getAttrs()));
  } else if (name == "pad" && isEmpty(operand(0))) {
    out.push_back(repeated(g, operand(1), op->getResult(0)));
  } else if ((name == "reduce" || name == "reduce_window") && isEmpty(operand(0))) {
    for (unsigned i = 0; i < results; ++i)
      out.push_back(repeated(g, operand(results + i), op->getResult(i)));
  } else if (name == "select_and_scatter") {
    out.push_back(repeated(g, operand(2), op->getResult(0)));
  } else if (name == "dot_general" || name == "dot" || name == "convolution") {
    out.push_back(g.number(0, op->getResult(0)));
  } else if (name == "dynamic_update_slice" || name == "scatter") {
    for (unsigned i = 0; i < results; ++i)
      out.push_back(operand(i));
  }
  return out;
}

} // namespace

// What gives no elements reads nothing: else somebody would compute for it.
static void readNothing(mlir::Operation *op) {
  GraphBuilder g(op);
  for (mlir::Value v : op->getResults())
    v.replaceAllUsesWith(g.constant(mlir::DenseElementsAttr::get(typeOf(v), llvm::ArrayRef<mlir::Attribute>())));
  op->erase();
}

void removeEmpty(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    const llvm::StringRef name = opName(op);
    const bool control = name == "while" || name == "if" || name == "case"; // its body is in the list too
    if (!control && name != "constant" && op->getNumResults() > 0 && llvm::all_of(op->getResults(), isEmpty) &&
        mlir::isMemoryEffectFree(op)) {
      readNothing(op);
      continue;
    }
    if (llvm::none_of(op->getOperands(), isEmpty) || llvm::any_of(op->getResults(), isEmpty))
      continue;
    const llvm::SmallVector<mlir::Value> left = leftOf(op);
    if (left.empty())
      continue;
    op->replaceAllUsesWith(left);
    op->erase();
  }
}

} // namespace glia::emit
