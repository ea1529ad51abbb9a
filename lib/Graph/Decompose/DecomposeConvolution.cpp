#include "DecomposeConvolution.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "IntegerConvolution.h"

namespace glia::emit {

namespace {

using Numbers = std::vector<int64_t>;

// Takes the first spatial dimension away.
class Flatten {
public:
  explicit Flatten(graph::ConvolutionOp op)
      : op(op), g(op), n(op.getDimensionNumbers()), rank(n.getInputSpatialDimensions().size()), padding(2 * rank, 0) {
    if (const auto p = op.getPadding())
      llvm::copy(p->getValues<int64_t>(), padding.begin());
  }

  graph::ConvolutionOp run() {
    const mlir::Value x = images(), w = kernel();
    // [batch * depth, output, rest]
    Numbers shape{size(result(), n.getOutputBatchDimension()) * depth(), size(result(), n.getOutputFeatureDimension())};
    for (int64_t d : n.getOutputSpatialDimensions().drop_front())
      shape.push_back(size(result(), d));
    const mlir::Value flat =
        g.make("convolution", {x, w}, mlir::RankedTensorType::get(shape, elementOf(result())), attributes());
    Numbers deep{size(result(), n.getOutputBatchDimension()), depth()};
    deep.insert(deep.end(), shape.begin() + 1, shape.end());
    // Back to the order of the result.
    const Numbers made = order(n.getOutputBatchDimension(), n.getOutputSpatialDimensions(), n.getOutputFeatureDimension());
    Numbers back(made.size());
    for (size_t i = 0; i < made.size(); ++i)
      back[static_cast<size_t>(made[i])] = static_cast<int64_t>(i);
    result().replaceAllUsesWith(g.transpose(g.reshape(flat, deep), back));
    op->erase();
    return flat.getDefiningOp<graph::ConvolutionOp>();
  }

private:
  graph::ConvolutionOp op;
  GraphBuilder g;
  const graph::ConvDimensionNumbersAttr n;
  const size_t rank;
  Numbers padding;

  mlir::Value result() { return op->getResult(0); }
  static int64_t size(mlir::Value v, int64_t d) { return typeOf(v).getDimSize(d); }
  int64_t depth() { return size(result(), n.getOutputSpatialDimensions()[0]); }
  int64_t taps() { return size(op.getRhs(), n.getKernelSpatialDimensions()[0]); }
  template <typename List> static int64_t firstOf(const List &list) { return list ? (*list)[0] : 1; }

  static Numbers order(int64_t a, llvm::ArrayRef<int64_t> spatial, int64_t b) {
    Numbers out{a, spatial[0], b};
    out.insert(out.end(), spatial.begin() + 1, spatial.end());
    return out;
  }

  // [batch * depth, (group, tap, channel), rest]
  mlir::Value images() {
    mlir::Value x = g.transpose(
        op.getLhs(), order(n.getInputBatchDimension(), n.getInputSpatialDimensions(), n.getInputFeatureDimension()));
    Numbers low(rank + 2, 0), high = low, between = low;
    low[1] = padding[0], high[1] = padding[1], between[1] = firstOf(op.getLhsDilation()) - 1;
    x = g.pad(x, g.number(0, mlir::RankedTensorType::get({}, elementOf(x))), low, high, between);
    const Numbers padded(typeOf(x).getShape());
    const auto groups = static_cast<int64_t>(op.getFeatureGroupCount());
    Numbers split{padded[0] * depth(), groups, 1, padded[2] / groups}, joined{split[0], padded[2] * taps()};
    split.insert(split.end(), padded.begin() + 3, padded.end());
    joined.insert(joined.end(), padded.begin() + 3, padded.end());
    std::vector<mlir::Value> parts;
    for (int64_t k = 0; k < taps(); ++k) {
      const bool reverse = op.getWindowReversal() && (*op.getWindowReversal())[0];
      parts.push_back(g.reshape(plane(x, (reverse ? taps() - 1 - k : k) * firstOf(op.getRhsDilation())), split));
    }
    return g.reshape(g.concatenate(parts, 2), joined);
  }

  // What a tap meets: one place for each output.
  mlir::Value plane(mlir::Value x, int64_t first) {
    const int64_t stride = firstOf(op.getWindowStrides());
    Numbers to(typeOf(x).getShape()), from(to.size(), 0), step(to.size(), 1);
    from[1] = first, to[1] = first + (depth() - 1) * stride + 1, step[1] = stride;
    return g.slice(x, from, to, step);
  }

  // [output, (tap, channel), rest]
  mlir::Value kernel() {
    const mlir::Value w = g.transpose(op.getRhs(), order(n.getKernelOutputFeatureDimension(), n.getKernelSpatialDimensions(),
                                                         n.getKernelInputFeatureDimension()));
    const llvm::ArrayRef<int64_t> shape = typeOf(w).getShape();
    Numbers joined{shape[0], shape[1] * shape[2]};
    joined.insert(joined.end(), shape.begin() + 3, shape.end());
    return g.reshape(w, joined);
  }

  std::vector<mlir::NamedAttribute> attributes() {
    std::vector<mlir::NamedAttribute> out;
    const auto add = [&](llvm::StringRef name, mlir::Attribute a) { out.push_back(g.b.getNamedAttr(name, a)); };
    if (const auto list = op.getWindowStrides())
      add("window_strides", g.b.getDenseI64ArrayAttr(list->drop_front()));
    if (const auto list = op.getLhsDilation())
      add("lhs_dilation", g.b.getDenseI64ArrayAttr(list->drop_front()));
    if (const auto list = op.getRhsDilation())
      add("rhs_dilation", g.b.getDenseI64ArrayAttr(list->drop_front()));
    if (const auto list = op.getWindowReversal())
      add("window_reversal", g.b.getDenseBoolArrayAttr(list->drop_front()));
    const auto left = static_cast<int64_t>(rank) - 1;
    add("padding", mlir::DenseIntElementsAttr::get(mlir::RankedTensorType::get({left, 2}, g.b.getI64Type()),
                                                   llvm::ArrayRef<int64_t>(padding).drop_front(2)));
    Numbers spatial;
    for (int64_t d = 0; d < left; ++d)
      spatial.push_back(d + 2);
    add("dimension_numbers",
        graph::ConvDimensionNumbersAttr::get(op.getContext(), 0, 1, spatial, 1, 0, spatial, 0, 1, spatial));
    add("feature_group_count", g.b.getI64IntegerAttr(static_cast<int64_t>(op.getFeatureGroupCount())));
    add("batch_group_count", g.b.getI64IntegerAttr(static_cast<int64_t>(op.getBatchGroupCount())));
    if (const mlir::Attribute precision = op->getAttr("precision_config"))
      add("precision_config", precision);
    return out;
  }
};

} // namespace

void decomposeConvolutions(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    auto c = llvm::dyn_cast<graph::ConvolutionOp>(op);
    if (!c || writeAsDot(c))
      continue;
    while (c.getDimensionNumbers().getInputSpatialDimensions().size() > 2)
      c = Flatten(c).run();
  }
}

} // namespace glia::emit
