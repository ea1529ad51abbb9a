// stablehlo.convolution with one or two spatial dimensions: forward, and the gradients of input and weights, which are convolutions too.
#include "Convolution.h"
#include "Families.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kSmallestSbuf = 180224; // of all targets: what fits there fits everywhere

// Empty if one of the ways fits.
std::string whyNot(const Convolution &c) {
  if (!tapsCost(c, kSmallestSbuf) && !positionsCost(c, kSmallestSbuf))
    return "a convolution whose window over one output row does not fit the on-chip memory";
  return "";
}

void emitZeros(KernelBuilder &k, const Tile &result) { // an empty contraction
  const Tile zeros = k.sbuf(result.dtype, 1, {1});
  k.fill(zeros, 0);
  Tile from = zeros.rows(0, 1);
  from.dims.clear();
  for (const Tile::Dim &d : result.dims)
    from.dims.push_back({0, d.count});
  k.copy(result, from);
}

class ConvolutionFamily : public Family {
public:
  std::string_view name() const override { return "convolution"; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op);
    if (!convolution)
      return std::nullopt;
    if (convolution.getDimensionNumbers().getInputSpatialDimensions().size() > 2)
      return "3-D convolution";
    for (mlir::Value v : {op->getOperand(0), op->getOperand(1), mlir::Value(op->getResult(0))}) {
      const auto t = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
      if (!t || (*t != DType::F32 && *t != DType::BF16 && *t != DType::F16))
        return t && !isFloat(*t) ? "convolution of integers" : "convolution of an element type other than f32, bf16 and f16";
    }
    if (elementsOf(op->getResult(0)) == 0 || elementsOf(op->getOperand(0)) == 0 || elementsOf(op->getOperand(1)) == 0)
      return "";
    return whyNot(groupOf(convolutionOf(convolution), 0));
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    auto op = llvm::cast<graph::ConvolutionOp>(g.ops[0]);
    const auto at = [&](mlir::Value v) { // the same tensor may be on both sides
      return inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
    };
    k.location(op.getLoc());
    const Convolution all = convolutionOf(op, at(op->getOperand(0)), at(op->getOperand(1)), outputs[0]);
    if (all.result.elements() == 0)
      return;
    if (all.input.elements() == 0 || all.kernel.elements() == 0)
      return emitZeros(k, all.result);
    for (int64_t i = 0; i < std::max(all.groups, all.batchGroups); ++i) {
      const Convolution c = groupOf(all, i);
      const std::optional<double> taps = tapsCost(c, k.target().sbufBytes),
                                  positions = positionsCost(c, k.target().sbufBytes);
      if (positions && (!taps || *positions < *taps))
        emitPositions(k, c);
      else
        emitTaps(k, c);
    }
  }
};

} // namespace

const Family &convolutionFamily() {
  static const ConvolutionFamily family;
  return family;
}

} // namespace glia::emit
