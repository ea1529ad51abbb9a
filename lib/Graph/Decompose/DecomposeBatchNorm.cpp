#include "DecomposeBatchNorm.h"
#include "Graph/Analysis/GraphBuilder.h"

namespace glia::emit {

namespace {

class BatchNorm {
public:
  using Value = mlir::Value;

  BatchNorm(mlir::Operation *op, int64_t feature, double epsilon)
      : op(op), g(op), feature(feature), epsilon(epsilon), type(elementOf(op->getOperand(0))),
        wide(type.getIntOrFloatBitWidth() < 32 ? g.b.getF32Type() : type), full(withElement(op->getOperand(0), wide)) {
    for (int64_t d = 0; d < full.getRank(); ++d)
      if (d != feature) {
        others.push_back(d);
        count *= static_cast<double>(full.getDimSize(d));
      }
  }

  void training() {
    const Value x = operand(0), mean = g.divide(sum(x), perFeature(count)), centered = g.subtract(x, spread(mean));
    const Value variance = g.divide(sum(g.multiply(centered, centered)), perFeature(count));
    const Value factor = g.multiply(operand(1), inverse(variance));
    replace({g.add(g.multiply(centered, spread(factor)), spread(operand(2))), mean, variance});
  }

  void inference() {
    const Value factor = g.multiply(operand(1), inverse(operand(4)));
    replace({g.add(g.multiply(g.subtract(operand(0), spread(operand(3))), spread(factor)), spread(operand(2)))});
  }

  void gradient() {
    const Value centered = g.subtract(operand(0), spread(operand(2))), given = operand(4);
    const Value scaled = inverse(operand(3)), total = sum(given), along = sum(g.multiply(given, centered));
    // (scale / deviation) (given - mean of given - centered * mean of (given * centered) / variance)
    const Value slope = g.divide(g.multiply(along, g.multiply(scaled, scaled)), perFeature(count));
    const Value rest =
        g.subtract(g.subtract(given, spread(g.divide(total, perFeature(count)))), g.multiply(centered, spread(slope)));
    replace({g.multiply(rest, spread(g.multiply(operand(1), scaled))), g.multiply(along, scaled), total});
  }

private:
  mlir::Operation *op;
  GraphBuilder g;
  int64_t feature;
  double epsilon, count = 1;
  mlir::Type type, wide;
  mlir::RankedTensorType full;
  llvm::SmallVector<int64_t> others;

  Value operand(unsigned i) { return g.convert(op->getOperand(i), wide); }
  Value perFeature(double value) { return g.number(value, mlir::RankedTensorType::get({full.getDimSize(feature)}, wide)); }
  Value spread(Value x) { return g.broadcast(x, {feature}, full); }
  Value sum(Value x) { return g.reduce("add", x, g.number(0, mlir::RankedTensorType::get({}, wide)), others); }
  Value inverse(Value variance) { return g.unary("rsqrt", g.add(variance, perFeature(epsilon))); }
  void replace(llvm::ArrayRef<Value> values) {
    for (auto [old, value] : llvm::zip(op->getResults(), values))
      old.replaceAllUsesWith(g.convert(value, type));
    op->erase();
  }
};

} // namespace

void decomposeBatchNorms(mlir::func::FuncOp main) {
  const auto make = [](auto norm) {
    return BatchNorm(norm, static_cast<int64_t>(norm.getFeatureIndex()), norm.getEpsilon().convertToDouble());
  };
  for (mlir::Operation *op : programOps(main)) {
    if (auto training = llvm::dyn_cast<graph::BatchNormTrainingOp>(op))
      make(training).training();
    else if (auto inference = llvm::dyn_cast<graph::BatchNormInferenceOp>(op))
      make(inference).inference();
    else if (auto gradient = llvm::dyn_cast<graph::BatchNormGradOp>(op))
      make(gradient).gradient();
  }
}

} // namespace glia::emit
