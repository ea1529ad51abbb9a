// Verifiers of the ops with windows: convolution, reduce_window, select_and_scatter.
#include "ConvDimensions.h"
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

static LogicalResult checkPositive(Operation *op, StringRef name, std::optional<ArrayRef<int64_t>> values, size_t size) {
  if (!values)
    return success();
  if (failed(checkSize(op, name, values->size(), size)))
    return failure();
  for (int64_t v : *values)
    if (v < 1)
      return op->emitOpError() << name << " holds " << v << ", and 1 is the least";
  return success();
}

LogicalResult windowedShape(Operation *op, ArrayRef<int64_t> base, const Window &w, Shape &out) {
  const size_t rank = base.size();
  if (failed(checkSize(op, "the window", w.sizes.size(), rank)) ||
      failed(checkPositive(op, "the window's strides", w.strides, rank)) ||
      failed(checkPositive(op, "the base dilations", w.baseDilations, rank)) ||
      failed(checkPositive(op, "the window's dilations", w.dilations, rank)))
    return failure();
  SmallVector<int64_t> padding(2 * rank, 0);
  if (w.padding) {
    const ShapedType type = w.padding.getType();
    if (type.getRank() != 2 || type.getDimSize(0) != static_cast<int64_t>(rank) || type.getDimSize(1) != 2)
      return op->emitOpError() << "padding is " << type << ", and " << rank << "x2 numbers are expected";
    llvm::copy(w.padding.getValues<int64_t>(), padding.begin());
  }
  out.clear();
  for (size_t i = 0; i < rank; ++i) {
    auto at = [&](std::optional<ArrayRef<int64_t>> list) { return list ? (*list)[i] : 1; };
    if (w.sizes[i] < 0)
      return op->emitOpError() << "the window has size " << w.sizes[i] << " in dimension " << i;
    auto dilated = [](int64_t size, int64_t by) { return size ? static_cast<__int128>(size - 1) * by + 1 : 0; };
    const __int128 size = dilated(base[i], at(w.baseDilations)) + padding[2 * i] + padding[2 * i + 1];
    const __int128 window = dilated(w.sizes[i], at(w.dilations));
    if (size < 0 || size > INT64_MAX)
      return op->emitOpError() << "padding and dilation leave dimension " << i << " with an impossible size";
    out.push_back(size == 0 || window > size ? 0 : static_cast<int64_t>((size - window) / at(w.strides)) + 1);
  }
  return success();
}

static LogicalResult checkGroups(ConvolutionOp op, int64_t batch, int64_t feature, int64_t kernelIn, int64_t kernelOut) {
  const int64_t features = op.getFeatureGroupCount(), batches = op.getBatchGroupCount();
  if (features < 1 || batches < 1 || (features > 1 && batches > 1))
    return op.emitOpError() << "feature_group_count and batch_group_count must be at least 1, and one of them 1";
  if (batch % batches || kernelOut % batches)
    return op.emitOpError() << "batch_group_count " << batches << " must divide the batch (" << batch
                            << ") and the output features (" << kernelOut << ")";
  if (feature % features || kernelOut % features)
    return op.emitOpError() << "feature_group_count " << features << " must divide the input features (" << feature
                            << ") and the output features (" << kernelOut << ")";
  if (feature / features != kernelIn)
    return op.emitOpError() << "the kernel takes " << kernelIn << " input features, and a group has " << feature / features;
  return success();
}

LogicalResult ConvolutionOp::verify() {
  const ConvDimensionNumbersAttr d = getDimensionNumbers();
  const auto lhs = getLhs().getType(), rhs = getRhs().getType();
  const size_t rank = d.getInputSpatialDimensions().size();
  if (!isPlainConv(d) || d.getKernelSpatialDimensions().size() != rank || d.getOutputSpatialDimensions().size() != rank)
    return emitOpError() << "dimension numbers must name each dimension of input, kernel and output once";
  for (RankedTensorType t : {lhs, rhs, cast<RankedTensorType>(getType())})
    if (t.getRank() != static_cast<int64_t>(rank) + 2)
      return emitOpError() << t << " must have " << rank + 2 << " dimensions, as the dimension numbers say";
  if (auto reversal = getWindowReversal(); reversal && failed(checkSize(*this, "reverse", reversal->size(), rank)))
    return failure();
  if (auto precision = getPrecisionConfig(); precision && !precision->empty() && precision->size() != 2)
    return emitOpError() << "precision_config must hold 0 or 2 values";

  const int64_t batch = lhs.getDimSize(d.getInputBatchDimension()), feature = lhs.getDimSize(d.getInputFeatureDimension());
  const int64_t kernelOut = rhs.getDimSize(d.getKernelOutputFeatureDimension());
  if (failed(checkGroups(*this, batch, feature, rhs.getDimSize(d.getKernelInputFeatureDimension()), kernelOut)))
    return failure();
  Shape base, window, spatial;
  for (size_t i = 0; i < rank; ++i) {
    base.push_back(lhs.getDimSize(d.getInputSpatialDimensions()[i]));
    window.push_back(rhs.getDimSize(d.getKernelSpatialDimensions()[i]));
  }
  const Window w{window, getWindowStrides(), getLhsDilation(), getRhsDilation(), getPaddingAttr()};
  if (failed(windowedShape(*this, base, w, spatial)))
    return failure();
  Shape shape(rank + 2);
  shape[d.getOutputBatchDimension()] = batch / static_cast<int64_t>(getBatchGroupCount());
  shape[d.getOutputFeatureDimension()] = kernelOut;
  for (size_t i = 0; i < rank; ++i)
    shape[d.getOutputSpatialDimensions()[i]] = spatial[i];
  return checkResult(*this, 0, shape, cast<RankedTensorType>(getType()).getElementType());
}

LogicalResult ReduceWindowOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  if (failed(checkSize(*this, "the list of results", getNumResults(), getInputs().size())))
    return failure();
  const Window w{getWindowDimensions(), getWindowStrides(), getBaseDilations(), getWindowDilations(), getPaddingAttr()};
  Shape shape;
  const auto first = tensor(getInputs()[0]);
  if (failed(windowedShape(*this, first.getShape(), w, shape)))
    return failure();
  SmallVector<Type> accumulators;
  for (auto [i, in, init] : llvm::enumerate(getInputs(), getInitValues())) {
    if (tensor(in).getShape() != first.getShape() || tensor(init).getRank())
      return emitOpError() << "inputs must have one shape, and initial values no dimensions";
    if (!isPromotable(element(in), element(init)))
      return emitOpError() << "an initial value of " << init.getType() << " cannot accumulate " << in.getType();
    if (failed(checkResult(*this, i, shape, element(init))))
      return failure();
    accumulators.push_back(element(init));
  }
  return checkReducer(*this, "body", getBody(), accumulators);
}

LogicalResult SelectAndScatterOp::verifyRegions() {
  const auto operand = getOperand().getType();
  Shape ones(operand.getRank(), 1), shape;
  const Window w{getWindowDimensions().value_or(ones), getWindowStrides(), {}, {}, getPaddingAttr()};
  if (failed(windowedShape(*this, operand.getShape(), w, shape)))
    return failure();
  const Type e = operand.getElementType(), accumulator = element(getInitValue());
  if (failed(checkType(*this, "the source", getSource().getType(), RankedTensorType::get(shape, element(getSource())))) ||
      failed(checkType(*this, "the initial value", getInitValue().getType(), scalarOf(accumulator))))
    return failure();
  if (!isPromotable(element(getSource()), accumulator))
    return emitOpError() << "an initial value of " << getInitValue().getType() << " cannot accumulate "
                         << getSource().getType();
  const Type pred = scalarOf(IntegerType::get(getContext(), 1));
  if (failed(checkResult(*this, 0, operand.getShape(), accumulator)) ||
      failed(checkRegion(*this, "select", getSelect(), {scalarOf(e), scalarOf(e)}, pred)))
    return failure();
  return checkReducer(*this, "scatter", getScatter(), accumulator);
}

} // namespace glia::graph
