#include "ExtractGroup.h"

#include "mlir/IR/IRMapping.h"

namespace glia::emit {

namespace {

// Splats and constants are no inputs of a group: their operations are copied.
void bring(mlir::Value v, mlir::OpBuilder &b, mlir::IRMapping &map) {
  if (map.contains(v))
    return;
  mlir::Operation *op = v.getDefiningOp();
  if (!op)
    throw std::logic_error("a group reads an argument that is not among its inputs");
  for (mlir::Value o : op->getOperands())
    bring(o, b, map);
  b.clone(*op, map);
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> extractGroup(const Group &g) {
  const mlir::Location loc = g.ops.back()->getLoc();
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
  mlir::OpBuilder b(module->getContext());
  b.setInsertionPointToEnd(module->getBody());
  llvm::SmallVector<mlir::Type> in, out;
  for (mlir::Value v : g.inputs)
    in.push_back(v.getType());
  for (mlir::Value v : g.outputs)
    out.push_back(v.getType());
  auto main = mlir::func::FuncOp::create(b, loc, "main", b.getFunctionType(in, out));
  mlir::Block *body = main.addEntryBlock();
  b.setInsertionPointToEnd(body);
  mlir::IRMapping map;
  map.map(g.inputs, body->getArguments());
  for (mlir::Operation *op : g.ops) {
    for (mlir::Value v : readBy(op))
      bring(v, b, map);
    if (!map.contains(op->getResult(0)))
      b.clone(*op, map);
  }
  llvm::SmallVector<mlir::Value> results;
  for (mlir::Value v : g.outputs)
    results.push_back(map.lookup(v));
  mlir::func::ReturnOp::create(b, loc, results);
  return module;
}

} // namespace glia::emit
