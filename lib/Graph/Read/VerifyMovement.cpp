// Verifiers of the ops that make and move tensors.
#include "Verify.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace glia::graph {

// Number of elements; 128 bits, for the shape may ask for more than there can be.
static unsigned __int128 elements(RankedTensorType type) {
  unsigned __int128 n = 1;
  for (int64_t d : type.getShape()) {
    if (d == 0)
      return 0;
    n = n > (static_cast<unsigned __int128>(1) << 64) ? n : n * static_cast<uint64_t>(d);
  }
  return n;
}

LogicalResult ConstantOp::verify() {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitOpError() << "dense_resource<" << resource.getRawHandle().getKey()
                           << "> is not among the resources of the file";
    const auto type = getOutput().getType();
    const Type e = type.getElementType();
    const uint64_t bytes = isa<ComplexType>(e) ? 2 * cast<ComplexType>(e).getElementType().getIntOrFloatBitWidth() / 8
                                               : (e.getIntOrFloatBitWidth() + 7) / 8;
    if (elements(type) * bytes != blob->getData().size())
      return emitOpError() << "dense_resource<" << resource.getRawHandle().getKey() << "> has " << blob->getData().size()
                           << " bytes, which is not the size of " << type;
  } else if (!isa<DenseElementsAttr>(getValue())) {
    return emitOpError() << "the value must be dense<...> or dense_resource<...>";
  }
  return checkType(*this, "the value", getValue().getShapedType(), getOutput().getType());
}

LogicalResult IotaOp::verify() {
  const auto type = getOutput().getType();
  if (!isNumberTensor(type))
    return emitOpError() << "counts in integers, floats or complex values, found " << type;
  return checkDims(*this, "iota_dimension", {static_cast<int64_t>(getIotaDimension())}, type.getRank());
}

LogicalResult BroadcastOp::verify() {
  Shape shape(getBroadcastSizes());
  if (llvm::any_of(shape, [](int64_t d) { return d < 0; }))
    return emitOpError() << "sizes must not be negative";
  llvm::append_range(shape, getOperand().getType().getShape());
  return checkResult(*this, 0, shape, element(getOperand()));
}

LogicalResult BroadcastInDimOp::verify() {
  const auto from = getOperand().getType(), to = getResult().getType();
  if (failed(checkSize(*this, "dims", getBroadcastDimensions().size(), from.getRank())) ||
      failed(checkDims(*this, "dims", getBroadcastDimensions(), to.getRank())))
    return failure();
  for (auto [i, d] : llvm::enumerate(getBroadcastDimensions()))
    if (from.getDimSize(i) != 1 && from.getDimSize(i) != to.getDimSize(d))
      return emitOpError() << "dimension " << i << " of the operand has size " << from.getDimSize(i) << ", and dimension "
                           << d << " of the result has size " << to.getDimSize(d) << "; the first must be 1 or equal";
  return checkElement(*this, "the result", to.getElementType(), from.getElementType());
}

static unsigned bits(Type e) {
  auto c = dyn_cast<ComplexType>(e);
  return c ? 2 * c.getElementType().getIntOrFloatBitWidth() : e.getIntOrFloatBitWidth();
}

// Elements of different size trade the last dimension.
LogicalResult BitcastConvertOp::verify() {
  const auto from = getOperand().getType(), to = getResult().getType();
  const unsigned a = bits(from.getElementType()), b = bits(to.getElementType());
  if (isa<ComplexType>(from.getElementType()) != isa<ComplexType>(to.getElementType()))
    return emitOpError() << "complex values are only cast to complex values";
  Shape shape(from.getShape());
  if (a > b) {
    if (a % b)
      return emitOpError() << "elements of " << a << " bits are no whole number of elements of " << b << " bits";
    shape.push_back(a / b);
  } else if (b > a) {
    if (shape.empty() || shape.back() != b / a || b % a)
      return emitOpError() << "the last dimension of " << from << " must be " << b << " / " << a;
    shape.pop_back();
  }
  return checkResult(*this, 0, shape, to.getElementType());
}

LogicalResult ReshapeOp::verify() {
  const auto from = getOperand().getType(), to = getResult().getType();
  if (elements(from) != elements(to))
    return emitOpError() << from << " and " << to << " have different numbers of elements";
  return checkElement(*this, "the result", to.getElementType(), from.getElementType());
}

LogicalResult TransposeOp::verify() {
  const auto from = getOperand().getType();
  if (failed(checkSize(*this, "dims", getPermutation().size(), from.getRank())) ||
      failed(checkDims(*this, "dims", getPermutation(), from.getRank())))
    return failure();
  Shape shape;
  for (int64_t d : getPermutation())
    shape.push_back(from.getDimSize(d));
  return checkResult(*this, 0, shape, from.getElementType());
}

LogicalResult SliceOp::verify() {
  const auto from = getOperand().getType();
  const size_t rank = from.getRank();
  if (failed(checkSize(*this, "start_indices", getStartIndices().size(), rank)) ||
      failed(checkSize(*this, "limit_indices", getLimitIndices().size(), rank)) ||
      failed(checkSize(*this, "strides", getStrides().size(), rank)))
    return failure();
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = getStartIndices()[i], limit = getLimitIndices()[i], stride = getStrides()[i];
    if (start < 0 || limit < start || limit > from.getDimSize(i) || stride < 1)
      return emitOpError() << "[" << start << ":" << limit << ":" << stride << "] is no slice of dimension " << i << " of "
                           << from;
    shape.push_back(limit == start ? 0 : (limit - start - 1) / stride + 1);
  }
  return checkResult(*this, 0, shape, from.getElementType());
}

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  const auto first = tensor(getInputs()[0]);
  const int64_t dim = getDimension();
  if (failed(checkDims(*this, "dim", {dim}, first.getRank())))
    return failure();
  Shape shape(first.getShape());
  shape[dim] = 0;
  for (Value v : getInputs()) {
    Shape other(tensor(v).getShape());
    const bool ranks = other.size() == shape.size();
    int64_t size = ranks ? std::exchange(other[dim], shape[dim]) : 0;
    if (!ranks || other != shape || element(v) != first.getElementType())
      return emitOpError() << v.getType() << " and " << first << " differ elsewhere than in dimension " << dim;
    if (__builtin_add_overflow(shape[dim], size, &shape[dim]))
      return emitOpError() << "the result is too large";
  }
  return checkResult(*this, 0, shape, first.getElementType());
}

LogicalResult PadOp::verify() {
  const auto from = getOperand().getType();
  const size_t rank = from.getRank();
  if (failed(checkSize(*this, "low", getEdgePaddingLow().size(), rank)) ||
      failed(checkSize(*this, "high", getEdgePaddingHigh().size(), rank)) ||
      failed(checkSize(*this, "interior", getInteriorPadding().size(), rank)) ||
      failed(checkElement(*this, "the padding value", element(getPaddingValue()), from.getElementType())))
    return failure();
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t interior = getInteriorPadding()[i], size = from.getDimSize(i);
    if (interior < 0)
      return emitOpError() << "interior must not be negative";
    const __int128 padded = static_cast<__int128>(size) + getEdgePaddingLow()[i] + getEdgePaddingHigh()[i] +
                            static_cast<__int128>(std::max<int64_t>(size - 1, 0)) * interior;
    if (padded < 0 || padded > INT64_MAX)
      return emitOpError() << "padding leaves dimension " << i << " of " << from << " with an impossible size";
    shape.push_back(static_cast<int64_t>(padded));
  }
  return checkResult(*this, 0, shape, from.getElementType());
}

LogicalResult ReverseOp::verify() {
  if (failed(checkDims(*this, "dims", getDimensions(), getOperand().getType().getRank())))
    return failure();
  return verifySameType(*this);
}

static LogicalResult checkStarts(Operation *op, OperandRange starts, RankedTensorType operand) {
  if (failed(checkSize(op, "start_indices", starts.size(), operand.getRank())))
    return failure();
  for (Value v : starts)
    if (failed(checkType(op, "a start index", v.getType(), starts.front().getType())))
      return failure();
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  const auto from = getOperand().getType();
  if (failed(checkStarts(*this, getStartIndices(), from)) ||
      failed(checkSize(*this, "sizes", getSliceSizes().size(), from.getRank())))
    return failure();
  for (auto [i, size] : llvm::enumerate(getSliceSizes()))
    if (size < 0 || size > from.getDimSize(i))
      return emitOpError() << "size " << size << " does not fit into dimension " << i << " of " << from;
  return checkResult(*this, 0, getSliceSizes(), from.getElementType());
}

LogicalResult DynamicUpdateSliceOp::verify() {
  const auto from = getOperand().getType(), update = getUpdate().getType();
  if (failed(checkStarts(*this, getStartIndices(), from)))
    return failure();
  if (update.getRank() != from.getRank())
    return emitOpError() << update << " and " << from << " have different ranks";
  for (int64_t i = 0; i < from.getRank(); ++i)
    if (update.getDimSize(i) > from.getDimSize(i))
      return emitOpError() << "the update " << update << " does not fit into dimension " << i << " of " << from;
  if (failed(checkElement(*this, "the update", update.getElementType(), from.getElementType())))
    return failure();
  return checkType(*this, "the result", getResult().getType(), from);
}

LogicalResult TorchIndexSelectOp::verify() {
  if (!isIntTensor(getIndex().getType()))
    return emitOpError() << "indices must be integers, found " << getIndex().getType();
  if (failed(checkDims(*this, "dim", {static_cast<int64_t>(getDim())}, getOperand().getType().getRank())))
    return failure();
  return checkElement(*this, "the result", element(getResult()), element(getOperand()));
}

} // namespace glia::graph
