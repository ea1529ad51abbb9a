#include "FloatBits.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

namespace glia::emit {

namespace {

bool takesBits(mlir::Operation *op) {
  if (opName(op) != "bitcast_convert")
    return false;
  const mlir::Type from = mlir::getElementTypeOrSelf(op->getOperand(0).getType()),
                   to = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  return llvm::isa<mlir::FloatType>(from) && llvm::isa<mlir::IntegerType>(to) &&
         from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth();
}

// The operations of the group that `v` is made by, of `end` and of inputs.
llvm::SetVector<mlir::Operation *> madeBy(const Group &g, mlir::Value v, mlir::Value end) {
  llvm::SetVector<mlir::Operation *> out;
  const auto add = [&](mlir::Value x) {
    if (mlir::Operation *op = x.getDefiningOp(); op && x != end && g.contains(op))
      out.insert(op);
  };
  add(v);
  for (size_t i = 0; i < out.size(); ++i)
    for (mlir::Value x : readBy(out[i]))
      add(x);
  return out;
}

Group partOf(const Group &g, mlir::Value v, mlir::Value end) {
  const llvm::SetVector<mlir::Operation *> made = madeBy(g, v, end);
  Group out;
  for (mlir::Operation *op : g.ops)
    if (made.contains(op))
      out.ops.push_back(op);
  out.inputs = g.inputs;
  out.outputs = {v};
  return out;
}

} // namespace

std::optional<FloatBits> floatBitsOf(const Group &g, mlir::Value output) {
  llvm::SetVector<mlir::Value> numbers;
  for (mlir::Operation *op : madeBy(g, output, nullptr))
    if (takesBits(op) && op->getOperand(0).getDefiningOp() && g.contains(op->getOperand(0).getDefiningOp()))
      numbers.insert(op->getOperand(0));
  if (numbers.size() != 1)
    return std::nullopt;
  FloatBits out{numbers[0], partOf(g, numbers[0], nullptr), partOf(g, output, numbers[0])};
  out.behind.inputs.push_back(numbers[0]);
  return out;
}

} // namespace glia::emit
