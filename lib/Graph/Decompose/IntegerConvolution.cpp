#include "IntegerConvolution.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Lower/Window/WindowPlan.h"

namespace glia::emit {

namespace {

using Numbers = std::vector<int64_t>;

class Product {
public:
  explicit Product(graph::ConvolutionOp op)
      : op(op), g(op), n(op.getDimensionNumbers()), rank(n.getInputSpatialDimensions().size()),
        features(static_cast<int64_t>(op.getFeatureGroupCount())), batches(static_cast<int64_t>(op.getBatchGroupCount())) {
    for (int64_t d : n.getKernelSpatialDimensions())
      window.push_back(typeOf(op.getRhs()).getDimSize(d));
    for (int64_t d : n.getOutputSpatialDimensions())
      outputs.push_back(typeOf(op->getResult(0)).getDimSize(d));
  }

  mlir::Value run() {
    const mlir::Value x = patches(), w = kernel();
    const int64_t last = typeOf(x).getRank() - 1, group = batches > 1 ? 0 : last - 1;
    Numbers shape{groups()};
    for (int64_t d = 0; d < last; ++d)
      if (d != group)
        shape.push_back(typeOf(x).getDimSize(d));
    shape.push_back(typeOf(w).getShape().back());
    const auto how = graph::DotDimensionNumbersAttr::get(op.getContext(), {group}, {1}, {last}, {0});
    const mlir::Value made = g.make("dot_general", {x, w}, mlir::RankedTensorType::get(shape, elementOf(op->getResult(0))),
                                    {g.b.getNamedAttr("dot_dimension_numbers", how)});
    return inOrder(made);
  }

private:
  graph::ConvolutionOp op;
  GraphBuilder g;
  const graph::ConvDimensionNumbersAttr n;
  const size_t rank;
  const int64_t features, batches; // groups; at most one of them is not 1
  Numbers window, outputs;

  int64_t groups() const { return features * batches; }
  static int64_t at(std::optional<llvm::ArrayRef<int64_t>> list, size_t d) { return list ? (*list)[d] : 1; }

  // [batch, outputs..., group, (tap, channel)], or [group, batch, outputs..., (tap, channel)] where batches are in groups.
  mlir::Value patches() {
    Numbers order{n.getInputBatchDimension()};
    llvm::append_range(order, n.getInputSpatialDimensions());
    order.push_back(n.getInputFeatureDimension());
    mlir::Value x = g.transpose(op.getLhs(), order);
    Numbers low(rank + 2, 0), high = low, between = low;
    for (size_t d = 0; d < rank; ++d) {
      if (const auto padding = op.getPadding()) {
        low[d + 1] = padding->getValues<int64_t>()[2 * d];
        high[d + 1] = padding->getValues<int64_t>()[2 * d + 1];
      }
      between[d + 1] = at(op.getLhsDilation(), d) - 1;
    }
    x = g.pad(x, g.number(0, mlir::RankedTensorType::get({}, elementOf(x))), low, high, between);
    const int64_t batch = typeOf(x).getDimSize(0), channels = typeOf(x).getShape().back();
    Numbers shape;
    if (batches > 1)
      shape.push_back(batches);
    shape.push_back(batch / batches);
    llvm::append_range(shape, outputs);
    if (batches == 1)
      shape.push_back(features);
    shape.push_back(channels / features);
    std::vector<mlir::Value> parts;
    forEachIndex(window, [&](const Numbers &tap) {
      Numbers from(rank + 2, 0), to{batch}, step(rank + 2, 1);
      for (size_t d = 0; d < rank; ++d) {
        const bool reverse = op.getWindowReversal() && (*op.getWindowReversal())[d];
        from[d + 1] = (reverse ? window[d] - 1 - tap[d] : tap[d]) * at(op.getRhsDilation(), d);
        step[d + 1] = at(op.getWindowStrides(), d);
        to.push_back(from[d + 1] + (outputs[d] - 1) * step[d + 1] + 1);
      }
      to.push_back(channels);
      parts.push_back(g.reshape(g.slice(x, from, to, step), shape));
    });
    return g.concatenate(parts, static_cast<int64_t>(shape.size()) - 1);
  }

  // [(tap, channel), group, output of the group]
  mlir::Value kernel() {
    Numbers order(n.getKernelSpatialDimensions());
    order.push_back(n.getKernelInputFeatureDimension());
    order.push_back(n.getKernelOutputFeatureDimension());
    const mlir::Value w = g.transpose(op.getRhs(), order);
    const llvm::ArrayRef<int64_t> shape = typeOf(w).getShape();
    int64_t taps = 1;
    for (int64_t size : window)
      taps *= size;
    return g.reshape(w, {taps * shape[rank], groups(), shape[rank + 1] / groups()});
  }

  // [group, batch, outputs..., output of the group] as the result lies.
  mlir::Value inOrder(mlir::Value made) {
    Numbers order, whole;
    for (size_t d = 1; d < rank + 2; ++d)
      order.push_back(static_cast<int64_t>(d));
    order.push_back(0);
    order.push_back(static_cast<int64_t>(rank) + 2);
    const mlir::Value apart = g.transpose(made, order);
    whole.assign(typeOf(apart).getShape().begin(), typeOf(apart).getShape().end() - 1);
    whole.back() *= typeOf(apart).getShape().back();
    Numbers back(rank + 2);
    back[static_cast<size_t>(n.getOutputBatchDimension())] = 0;
    for (size_t d = 0; d < rank; ++d)
      back[static_cast<size_t>(n.getOutputSpatialDimensions()[d])] = static_cast<int64_t>(d) + 1;
    back[static_cast<size_t>(n.getOutputFeatureDimension())] = static_cast<int64_t>(rank) + 1;
    return g.transpose(g.reshape(apart, whole), back);
  }
};

} // namespace

bool writeAsDot(graph::ConvolutionOp op) {
  const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(op.getLhs()));
  if (!t || t.getWidth() == 1 || typeOf(op->getResult(0)).getNumElements() == 0)
    return false;
  op->getResult(0).replaceAllUsesWith(Product(op).run());
  op->erase();
  return true;
}

} // namespace glia::emit
