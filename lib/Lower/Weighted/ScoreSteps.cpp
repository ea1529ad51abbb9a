#include "ScoreSteps.h"
#include "glia/Graph/Graph.h"

#include "mlir/IR/TypeUtilities.h"

namespace glia::emit {

bool keepsDigits(mlir::Operation *convert) {
  return llvm::all_of(llvm::ArrayRef<mlir::Type>{convert->getOperand(0).getType(), convert->getResult(0).getType()},
                      [](mlir::Type t) {
                        const mlir::Type e = mlir::getElementTypeOrSelf(t);
                        return llvm::isa<mlir::FloatType>(e) && e.getIntOrFloatBitWidth() >= 16;
                      });
}

TensorView viewOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops) {
  mlir::Operation *op = v.getDefiningOp();
  const TensorView itself{v, contiguous(shapeOf(v))};
  if (!op)
    return itself;
  llvm::SetVector<mlir::Operation *> more;
  TensorView out;
  if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    const TensorView from = viewOf(op->getOperand(0), more);
    out.source = from.source;
    for (int64_t n : shapeOf(v))
      out.dims.push_back({0, n});
    for (size_t i = 0; i < from.dims.size(); ++i)
      if (from.dims[i].count != 1)
        out.dims[static_cast<size_t>(broadcast.getBroadcastDimensions()[i])] = from.dims[i];
  } else if (auto transpose = llvm::dyn_cast<graph::TransposeOp>(op)) {
    const TensorView from = viewOf(op->getOperand(0), more);
    out.source = from.source;
    for (int64_t d : transpose.getPermutation())
      out.dims.push_back(from.dims[static_cast<size_t>(d)]);
  } else if (isAlias(op)) {
    out = viewOf(aliasOf(v), more);
    Tile t;
    t.dims = out.dims;
    try {
      out.dims = t.reshaped(shapeOf(v)).dims;
    } catch (const std::logic_error &) {
      return itself;
    }
  } else if (opName(op) == "convert" && keepsDigits(op)) {
    out = viewOf(op->getOperand(0), more);
  } else {
    return itself;
  }
  ops.insert(more.begin(), more.end());
  ops.insert(op);
  return out;
}

} // namespace glia::emit
