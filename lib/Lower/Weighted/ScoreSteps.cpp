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

std::optional<TensorView> seenThrough(mlir::Operation *op, mlir::Value result, const TensorView &from) {
  TensorView out;
  out.source = from.source;
  if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    for (int64_t n : shapeOf(result))
      out.dims.push_back({0, n});
    for (size_t i = 0; i < from.dims.size(); ++i)
      if (from.dims[i].count != 1)
        out.dims[static_cast<size_t>(broadcast.getBroadcastDimensions()[i])] = from.dims[i];
  } else if (auto transpose = llvm::dyn_cast<graph::TransposeOp>(op)) {
    for (int64_t d : transpose.getPermutation())
      out.dims.push_back(from.dims[static_cast<size_t>(d)]);
  } else if (isAlias(op)) {
    Tile t;
    t.dims = from.dims;
    try {
      out.dims = t.reshaped(shapeOf(result)).dims;
    } catch (const std::logic_error &) {
      return std::nullopt;
    }
  } else if (opName(op) == "convert" && keepsDigits(op)) {
    out.dims = from.dims;
  } else {
    return std::nullopt;
  }
  return out;
}

TensorProduct productOf(mlir::Value v, llvm::SetVector<mlir::Operation *> &ops) {
  mlir::Operation *op = v.getDefiningOp();
  const TensorProduct itself{1, {{v, contiguous(shapeOf(v))}}};
  if (!op || op->getNumOperands() == 0)
    return itself;
  llvm::SetVector<mlir::Operation *> more;
  TensorProduct out;
  const bool isFloat = llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(v.getType()));
  if (opName(op) == "multiply" && isFloat) {
    int64_t elements = 0;
    for (mlir::Value o : op->getOperands()) {
      if (const std::optional<double> n = splatOf(o)) {
        out.number *= *n;
        continue;
      }
      const TensorProduct part = productOf(o, more);
      out.number *= part.number;
      out.views.insert(out.views.end(), part.views.begin(), part.views.end());
      for (const TensorView &view : part.views)
        elements += elementsOf(view.source);
    }
    if (out.views.empty() || out.views.size() > 2 || (out.views.size() == 2 && elements >= elementsOf(v)))
      return itself;
  } else {
    out = productOf(isAlias(op) ? aliasOf(v) : op->getOperand(0), more);
    for (TensorView &view : out.views) {
      const std::optional<TensorView> seen = seenThrough(op, v, view);
      if (!seen)
        return itself;
      view = *seen;
    }
  }
  ops.insert(more.begin(), more.end());
  ops.insert(op);
  return out;
}

} // namespace glia::emit
