#include "PlainBody.h"
#include "Lower/Rows/RowsPlan.h"

#include "mlir/IR/IRMapping.h"

namespace glia::emit {

bool isPlainBody(mlir::Block &body) {
  return llvm::all_of(body.without_terminator(), [](mlir::Operation &op) {
    return op.getNumResults() == 1 && op.getNumRegions() == 0 && (isPointwise(opName(&op)) || opName(&op) == "constant");
  });
}

llvm::SmallVector<mlir::Value> applied(GraphBuilder &g, mlir::Block &body, mlir::ValueRange arguments) {
  const llvm::ArrayRef<int64_t> shape = typeOf(arguments[0]).getShape();
  const auto spread = [&](mlir::Value scalar) {
    return g.broadcast(scalar, {}, mlir::RankedTensorType::get(shape, elementOf(scalar)));
  };
  mlir::IRMapping known;
  known.map(body.getArguments(), arguments);
  const auto take = [&](mlir::Value v) {
    if (!known.contains(v))
      known.map(v, spread(v));
  };
  for (mlir::Operation &op : body.without_terminator()) {
    const mlir::Value result = op.getResult(0);
    if (opName(&op) == "constant") {
      known.map(result, spread(g.b.clone(op)->getResult(0)));
      continue;
    }
    for (mlir::Value v : op.getOperands())
      take(v);
    mlir::Operation *copy = g.b.clone(op, known);
    copy->getResult(0).setType(mlir::RankedTensorType::get(shape, elementOf(result)));
    known.map(result, copy->getResult(0));
  }
  llvm::SmallVector<mlir::Value> out;
  for (mlir::Value v : body.getTerminator()->getOperands()) {
    take(v);
    out.push_back(known.lookup(v));
  }
  return out;
}

} // namespace glia::emit
