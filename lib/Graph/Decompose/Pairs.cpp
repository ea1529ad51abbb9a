#include "Pairs.h"

namespace glia::emit {

mlir::RankedTensorType pairsOf(mlir::Type type, mlir::Type element) {
  std::vector<int64_t> shape(llvm::cast<mlir::RankedTensorType>(type).getShape());
  shape.push_back(2);
  return mlir::RankedTensorType::get(shape, element);
}

mlir::Value partOf(GraphBuilder &g, mlir::Value pairs, int64_t which) {
  const int64_t last = typeOf(pairs).getRank() - 1;
  return g.reshape(g.slice(pairs, last, which, which + 1), typeOf(pairs).getShape().drop_back());
}

mlir::Value paired(GraphBuilder &g, mlir::Value first, mlir::Value second) {
  std::vector<int64_t> shape(typeOf(first).getShape());
  shape.push_back(1);
  return g.concatenate({g.reshape(first, shape), g.reshape(second, shape)}, static_cast<int64_t>(shape.size()) - 1);
}

mlir::Value retype(mlir::func::FuncOp main, mlir::BlockArgument a, mlir::Type to) {
  const mlir::Type old = a.getType();
  a.setType(to);
  GraphBuilder g(&main.getBody().front().front());
  const mlir::Value whole = g.make("bitcast_convert", {a}, old);
  a.replaceAllUsesExcept(whole, whole.getDefiningOp());
  return whole;
}

void updateType(mlir::func::FuncOp main) {
  main.setType(mlir::FunctionType::get(main.getContext(), main.getBody().front().getArgumentTypes(),
                                       main.getBody().front().getTerminator()->getOperandTypes()));
}

} // namespace glia::emit
