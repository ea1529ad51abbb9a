// Verifiers of the element-wise ops.
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

LogicalResult verifySameType(Operation *op) {
  const Type result = op->getResult(0).getType();
  for (OpOperand &o : op->getOpOperands())
    if (failed(checkType(op, "operand #" + Twine(o.getOperandNumber()), o.get().getType(), result)))
      return failure();
  return success();
}

LogicalResult verifySameShape(Operation *op) {
  const ArrayRef<int64_t> shape = tensor(op->getResult(0)).getShape();
  for (Value v : op->getOperands())
    if (tensor(v).getShape() != shape)
      return op->emitOpError() << "operand " << v.getType() << " and result " << op->getResult(0).getType()
                               << " have different shapes";
  return success();
}

// The result has the parts of the operand's complex values, or the same elements.
static LogicalResult verifyPart(Operation *op) {
  Type e = element(op->getOperand(0));
  if (auto c = dyn_cast<ComplexType>(e))
    e = c.getElementType();
  return checkResult(op, 0, tensor(op->getOperand(0)).getShape(), e);
}

LogicalResult AbsOp::verify() { return verifyPart(*this); }
LogicalResult RealOp::verify() { return verifyPart(*this); }
LogicalResult ImagOp::verify() { return verifyPart(*this); }
LogicalResult ConvertOp::verify() { return verifySameShape(*this); }
LogicalResult IsFiniteOp::verify() { return verifySameShape(*this); }

LogicalResult ComplexOp::verify() {
  if (!isa<Float32Type, Float64Type>(element(getLhs())))
    return emitOpError() << "operands must be f32 or f64, found " << getLhs().getType();
  if (failed(checkType(*this, "operand #1", getRhs().getType(), getLhs().getType())))
    return failure();
  return checkResult(*this, 0, getLhs().getType().getShape(), ComplexType::get(element(getLhs())));
}

LogicalResult ReducePrecisionOp::verify() {
  if (static_cast<int32_t>(getExponentBits()) < 1 || static_cast<int32_t>(getMantissaBits()) < 0)
    return emitOpError() << "needs at least 1 exponent bit and 0 mantissa bits";
  return verifySameType(*this);
}

LogicalResult CompareOp::verify() {
  const ComparisonType type = getCompareType().value_or(ComparisonType::NOTYPE);
  const Type e = element(getLhs());
  if (type == ComparisonType::TOTALORDER && !isa<FloatType>(e))
    return emitOpError() << "TOTALORDER compares floats, found " << getLhs().getType();
  if (isa<ComplexType>(e) && getComparisonDirection() != ComparisonDirection::EQ &&
      getComparisonDirection() != ComparisonDirection::NE)
    return emitOpError() << "complex values have no order: EQ and NE compare them";
  if (failed(checkType(*this, "operand #1", getRhs().getType(), getLhs().getType())))
    return failure();
  return verifySameShape(*this);
}

LogicalResult SelectOp::verify() {
  const auto pred = getPred().getType(), result = getResult().getType();
  if (pred.getRank() && pred.getShape() != result.getShape())
    return emitOpError() << "the condition is " << pred << ", and must have no dimensions or those of the result " << result;
  if (failed(checkType(*this, "operand #1", getOnTrue().getType(), result)))
    return failure();
  return checkType(*this, "operand #2", getOnFalse().getType(), result);
}

LogicalResult ClampOp::verify() {
  const auto type = getOperand().getType();
  for (auto [name, bound] : {std::pair("min", getMin()), std::pair("max", getMax())}) {
    if (bound.getType().getRank() && bound.getType().getShape() != type.getShape())
      return emitOpError() << name << " is " << bound.getType() << ", and must have no dimensions or those of " << type;
    if (failed(checkElement(*this, name, element(bound), type.getElementType())))
      return failure();
  }
  return checkType(*this, "the result", getResult().getType(), type);
}

} // namespace glia::graph
