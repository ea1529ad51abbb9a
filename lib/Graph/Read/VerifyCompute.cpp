// Verifiers of contractions, norms, linear algebra and random numbers.
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

// ---- contractions -----------------------------------------------------------------------------------------------------------

static LogicalResult checkPrecision(Operation *op, std::optional<ArrayAttr> precision) {
  if (precision && !precision->empty() && precision->size() != 2)
    return op->emitOpError() << "precision_config must hold 0 or 2 values";
  return success();
}

LogicalResult DotOp::verify() {
  const auto lhs = getLhs().getType(), rhs = getRhs().getType();
  const int64_t l = lhs.getRank(), r = rhs.getRank();
  if (l < 1 || l > 2 || r < 1 || r > 2)
    return emitOpError() << "takes vectors and matrices, found " << lhs << " and " << rhs;
  if (lhs.getDimSize(l - 1) != rhs.getDimSize(0))
    return emitOpError() << "contracts dimensions of different size: " << lhs << " and " << rhs;
  Shape shape;
  if (l == 2)
    shape.push_back(lhs.getDimSize(0));
  if (r == 2)
    shape.push_back(rhs.getDimSize(1));
  if (failed(checkPrecision(*this, getPrecisionConfig())))
    return failure();
  return checkResult(*this, 0, shape, element(getResult()));
}

LogicalResult DotGeneralOp::verify() {
  const DotDimensionNumbersAttr d = getDotDimensionNumbers();
  const auto lhs = getLhs().getType(), rhs = getRhs().getType();
  const auto lb = d.getLhsBatchingDimensions(), rb = d.getRhsBatchingDimensions();
  const auto lc = d.getLhsContractingDimensions(), rc = d.getRhsContractingDimensions();
  Shape left(lb), right(rb);
  llvm::append_range(left, lc);
  llvm::append_range(right, rc);
  if (failed(checkSize(*this, "rhs_batching_dimensions", rb.size(), lb.size())) ||
      failed(checkSize(*this, "rhs_contracting_dimensions", rc.size(), lc.size())) ||
      failed(checkDims(*this, "batching and contracting dimensions of the left operand", left, lhs.getRank())) ||
      failed(checkDims(*this, "batching and contracting dimensions of the right operand", right, rhs.getRank())) ||
      failed(checkPrecision(*this, getPrecisionConfig())))
    return failure();
  for (auto [a, b] : llvm::zip(left, right))
    if (lhs.getDimSize(a) != rhs.getDimSize(b))
      return emitOpError() << "dimension " << a << " of " << lhs << " and dimension " << b << " of " << rhs
                           << " have different sizes";
  Shape shape;
  for (int64_t i : lb)
    shape.push_back(lhs.getDimSize(i));
  auto rest = [&](RankedTensorType type, ArrayRef<int64_t> taken) {
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (!llvm::is_contained(taken, i))
        shape.push_back(type.getDimSize(i));
  };
  rest(lhs, left);
  rest(rhs, right);
  return checkResult(*this, 0, shape, element(getResult()));
}

// ---- batch norms ------------------------------------------------------------------------------------------------------------

// Every operand and result is either like the first operand or a vector of its features.
static LogicalResult checkBatchNorm(Operation *op, uint64_t feature, std::initializer_list<unsigned> whole) {
  const auto type = tensor(op->getOperand(0));
  if (failed(checkDims(op, "feature_index", {static_cast<int64_t>(feature)}, type.getRank())))
    return failure();
  const auto vector = RankedTensorType::get({type.getDimSize(feature)}, type.getElementType());
  for (auto [i, v] : llvm::enumerate(op->getOperands()))
    if (failed(checkType(op, "operand #" + Twine(i), v.getType(), llvm::is_contained(whole, i) ? type : vector)))
      return failure();
  for (auto [i, v] : llvm::enumerate(op->getResults()))
    if (failed(checkType(op, "result #" + Twine(i), v.getType(), i == 0 ? type : vector)))
      return failure();
  return success();
}

LogicalResult BatchNormTrainingOp::verify() { return checkBatchNorm(*this, getFeatureIndex(), {0}); }
LogicalResult BatchNormInferenceOp::verify() { return checkBatchNorm(*this, getFeatureIndex(), {0}); }
LogicalResult BatchNormGradOp::verify() { return checkBatchNorm(*this, getFeatureIndex(), {0, 4}); }

// ---- fft, linear algebra ----------------------------------------------------------------------------------------------------

LogicalResult FftOp::verify() {
  const auto from = getOperand().getType();
  const FftType type = getFftType();
  const size_t n = getFftLength().size();
  if (n < 1 || n > 3 || static_cast<int64_t>(n) > from.getRank())
    return emitOpError() << "length must hold 1 to 3 values, and not more than the operand has dimensions";
  const bool realIn = type == FftType::RFFT, realOut = type == FftType::IRFFT;
  if (isComplexTensor(from) == realIn)
    return emitOpError() << stringifyFftType(type) << " of " << from;
  Shape shape(from.getShape());
  for (size_t i = 0; i < n; ++i) {
    const size_t at = shape.size() - n + i;
    const int64_t length = getFftLength()[i];
    const bool last = i + 1 == n;
    const int64_t expected = realOut && last ? length / 2 + 1 : length;
    if (length < 0 || (shape[at] != expected && !(shape[at] == 0 && length == 0)))
      return emitOpError() << "dimension " << at << " of " << from << " does not fit length " << length;
    if (last && length)
      shape[at] = realIn ? length / 2 + 1 : length;
  }
  Type e = from.getElementType();
  if (realIn && !e.isF32() && !e.isF64())
    return emitOpError() << "takes f32 or f64, found " << from;
  if (realIn)
    e = ComplexType::get(e);
  if (realOut)
    e = cast<ComplexType>(e).getElementType();
  return checkResult(*this, 0, shape, e);
}

static LogicalResult checkSquare(Operation *op, RankedTensorType type) {
  const int64_t rank = type.getRank();
  if (rank < 2 || type.getDimSize(rank - 1) != type.getDimSize(rank - 2))
    return op->emitOpError() << type << " is no batch of square matrices";
  return success();
}

LogicalResult CholeskyOp::verify() {
  if (failed(checkSquare(*this, getA().getType())))
    return failure();
  return verifySameType(*this);
}

LogicalResult TriangularSolveOp::verify() {
  const auto a = getA().getType(), b = getB().getType();
  if (failed(checkSquare(*this, a)))
    return failure();
  const int64_t rank = a.getRank();
  if (b.getRank() != rank || b.getShape().drop_back(2) != a.getShape().drop_back(2) ||
      b.getDimSize(rank - (getLeftSide() ? 2 : 1)) != a.getDimSize(rank - 1))
    return emitOpError() << b << " does not fit the matrices " << a;
  if (getTransposeA() == Transpose::TRANSPOSE_INVALID)
    return emitOpError() << "transpose_a must be NO_TRANSPOSE, TRANSPOSE or ADJOINT";
  if (failed(checkElement(*this, "operand #1", b.getElementType(), a.getElementType())))
    return failure();
  return checkType(*this, "the result", getType(), b);
}

// ---- random numbers ---------------------------------------------------------------------------------------------------------

LogicalResult RngOp::verify() {
  const auto shape = getShape().getType();
  if (shape.getRank() != 1 || shape.getDimSize(0) != getResult().getType().getRank())
    return emitOpError() << "the shape is " << shape << ", and the result has " << getResult().getType().getRank()
                         << " dimensions";
  if (failed(checkElement(*this, "operand #1", element(getB()), element(getA()))))
    return failure();
  return checkElement(*this, "the result", element(getResult()), element(getA()));
}

LogicalResult RngBitGeneratorOp::verify() {
  return checkType(*this, "the state", getOutputState().getType(), getInitialState().getType());
}

// ---- chlo -------------------------------------------------------------------------------------------------------------------

LogicalResult chlo::TopKOp::verify() {
  const auto type = getOperand().getType();
  const int64_t k = getK();
  if (!type.getRank() || k < 0 || k > type.getShape().back())
    return emitOpError() << "k = " << k << " of the last dimension of " << type;
  Shape shape(type.getShape());
  shape.back() = k;
  if (failed(checkResult(*this, 0, shape, type.getElementType())))
    return failure();
  return checkResult(*this, 1, shape, IntegerType::get(getContext(), 32));
}

} // namespace glia::graph
