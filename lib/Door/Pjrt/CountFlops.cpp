#include "CountFlops.h"

#include "llvm/ADT/StringSet.h"

namespace glia::pjrt {

namespace {

double elements(mlir::Value v) {
  const auto t = mlir::dyn_cast<mlir::RankedTensorType>(v.getType());
  return t && t.hasStaticShape() ? static_cast<double>(t.getNumElements()) : 0;
}

double ofOperation(mlir::Operation &op) {
  static const llvm::StringSet<> arithmetic = {"abs",          "add",         "atan2",
                                               "cbrt",         "ceil",        "cosine",
                                               "divide",       "exponential", "exponential_minus_one",
                                               "floor",        "log",         "logistic",
                                               "log_plus_one", "maximum",     "minimum",
                                               "multiply",     "negate",      "power",
                                               "remainder",    "rsqrt",       "sign",
                                               "sine",         "sqrt",        "subtract",
                                               "tan",          "tanh",        "clamp"};
  if (auto dot = mlir::dyn_cast<graph::DotGeneralOp>(op)) {
    double pairs = elements(dot.getResult());
    const auto lhs = mlir::cast<mlir::RankedTensorType>(dot.getLhs().getType());
    for (const int64_t d : dot.getDotDimensionNumbers().getLhsContractingDimensions())
      pairs *= static_cast<double>(lhs.getDimSize(static_cast<unsigned>(d)));
    return 2 * pairs;
  }
  if (auto c = mlir::dyn_cast<graph::ConvolutionOp>(op)) {
    const auto kernel = mlir::cast<mlir::RankedTensorType>(c.getRhs().getType());
    const int64_t features =
        kernel.getDimSize(static_cast<unsigned>(c.getDimensionNumbers().getKernelOutputFeatureDimension()));
    return features ? 2 * elements(c.getResult()) * elements(c.getRhs()) / static_cast<double>(features) : 0;
  }
  if (mlir::isa<graph::ReduceOp, graph::ReduceWindowOp>(op))
    return elements(op.getOperand(0));
  const llvm::StringRef name = op.getName().stripDialect();
  return op.getNumResults() == 1 && arithmetic.contains(name) ? elements(op.getResult(0)) : 0;
}

double ofRegion(mlir::Region &region, mlir::ModuleOp module) {
  double sum = 0;
  for (mlir::Operation &op : region.getOps()) {
    if (auto call = mlir::dyn_cast<mlir::func::CallOp>(op)) {
      if (auto callee = module.lookupSymbol<mlir::func::FuncOp>(call.getCallee()))
        sum += ofRegion(callee.getBody(), module);
      continue;
    }
    sum += ofOperation(op);
    if (mlir::isa<graph::WhileOp, graph::IfOp, graph::CaseOp>(op))
      for (mlir::Region &inner : op.getRegions())
        sum += ofRegion(inner, module);
  }
  return sum;
}

} // namespace

double countFlops(mlir::func::FuncOp main) { return ofRegion(main.getBody(), main->getParentOfType<mlir::ModuleOp>()); }

} // namespace glia::pjrt
