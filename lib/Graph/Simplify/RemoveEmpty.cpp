#include "RemoveEmpty.h"
#include "Graph/Analysis/ConstantElements.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Lower/Family.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace glia::emit {

namespace {

mlir::Value repeated(GraphBuilder &g, mlir::Value scalar, mlir::Value like) {
  return g.broadcast(scalar, {}, withElement(like, elementOf(scalar)));
}

// A window over no elements holds the start in every place: `op` on as many of them, and the start once more.
llvm::SmallVector<mlir::Value> startsOfWindow(GraphBuilder &g, graph::ReduceWindowOp op) {
  int64_t taps = 1;
  for (int64_t n : op.getWindowDimensions())
    taps *= n;
  llvm::SmallVector<mlir::Value> operands, out;
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value start : op.getInitValues()) {
    operands.push_back(g.broadcast(start, {}, mlir::RankedTensorType::get({taps}, elementOf(start))));
    types.push_back(start.getType());
  }
  llvm::append_range(operands, op.getInitValues());
  mlir::OperationState state(g.loc, "stablehlo.reduce", operands, types,
                             {g.b.getNamedAttr("dimensions", g.b.getDenseI64ArrayAttr({0}))});
  mlir::IRMapping map;
  op->getRegion(0).cloneInto(state.addRegion(), map);
  for (auto [number, like] : llvm::zip(g.b.create(state)->getResults(), op->getResults()))
    out.push_back(repeated(g, number, like));
  return out;
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
  } else if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op)) {
    out = startsOfWindow(g, window);
  } else if (name == "reduce") {
    for (unsigned i = 0; i < results; ++i)
      out.push_back(repeated(g, operand(results + i), op->getResult(i)));
  } else if (name == "select_and_scatter") {
    out.push_back(repeated(g, operand(2), op->getResult(0)));
  } else if ((name == "dot_general" || name == "dot" || name == "convolution") &&
             isNumberType(elementOf(op->getResult(0)))) {
    out.push_back(g.number(0, op->getResult(0)));
  } else if ((name == "dynamic_update_slice" && isEmpty(operand(1))) ||
             (name == "scatter" && isEmpty(op->getOperands().back()))) { // indices without elements: one place, the first
    for (unsigned i = 0; i < results; ++i)
      out.push_back(operand(i));
  }
  return out;
}

} // namespace

static mlir::Value nothing(GraphBuilder &g, mlir::Value like) {
  return g.constant(mlir::DenseElementsAttr::get(typeOf(like), llvm::ArrayRef<mlir::Attribute>()));
}

// What gives no elements reads nothing: else somebody would compute for it.
static void readNothing(mlir::Operation *op) {
  GraphBuilder g(op);
  for (mlir::Value v : op->getResults())
    v.replaceAllUsesWith(nothing(g, v));
  op->erase();
}

// Indices without elements are known, whoever gives them.
static void knowIndices(mlir::Operation *op) {
  GraphBuilder g(op);
  for (mlir::OpOperand &o : op->getOpOperands())
    if (isEmpty(o.get()))
      o.set(nothing(g, o.get()));
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
    if (left.empty()) {
      if (name == "gather" || name == "scatter")
        knowIndices(op);
      continue;
    }
    op->replaceAllUsesWith(left);
    op->erase();
  }
}

} // namespace glia::emit
