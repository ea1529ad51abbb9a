// Checks that many verifiers need.
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

LogicalResult checkDims(Operation *op, StringRef name, ArrayRef<int64_t> dims, int64_t rank, bool sorted) {
  llvm::SmallBitVector seen(rank);
  for (auto [i, d] : llvm::enumerate(dims)) {
    if (d < 0 || d >= rank)
      return op->emitOpError() << name << " holds " << d << ", and there are " << rank << " dimensions";
    if (seen.test(d))
      return op->emitOpError() << name << " holds " << d << " twice";
    if (sorted && i && dims[i - 1] > d)
      return op->emitOpError() << name << " must be in ascending order";
    seen.set(d);
  }
  return success();
}

LogicalResult checkSize(Operation *op, StringRef name, size_t size, size_t expected) {
  if (size == expected)
    return success();
  return op->emitOpError() << name << " holds " << size << " values, and " << expected << " are needed";
}

LogicalResult checkType(Operation *op, const Twine &what, Type found, Type expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " is " << found << ", and " << expected << " is expected";
}

LogicalResult checkResult(Operation *op, unsigned number, ArrayRef<int64_t> shape, Type element) {
  const auto expected = RankedTensorType::get(shape, element);
  const Type found = op->getResult(number).getType();
  if (found == expected)
    return success();
  auto error = op->emitOpError() << "result ";
  if (op->getNumResults() > 1)
    error << '#' << number << ' ';
  return error << "is " << found << ", and the operands give " << expected;
}

LogicalResult checkElement(Operation *op, const Twine &what, Type found, Type expected) {
  if (found == expected)
    return success();
  return op->emitOpError() << what << " has elements of type " << found << ", and " << expected << " is expected";
}

RankedTensorType scalarOf(Type element) { return RankedTensorType::get({}, element); }

bool isPromotable(Type from, Type to) {
  if (from == to)
    return true;
  if (auto f = dyn_cast<ComplexType>(from)) {
    auto t = dyn_cast<ComplexType>(to);
    return t && isPromotable(f.getElementType(), t.getElementType());
  }
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
  auto f = dyn_cast<IntegerType>(from), t = dyn_cast<IntegerType>(to);
  return f && t && f.getSignedness() == t.getSignedness() && f.getWidth() != 1 && f.getWidth() <= t.getWidth();
}

LogicalResult checkRegion(Operation *op, StringRef name, Region &region, TypeRange arguments, TypeRange results) {
  if (!region.hasOneBlock() || region.front().empty())
    return op->emitOpError() << "region `" << name << "` must be one block that ends with stablehlo.return";
  Block &block = region.front();
  auto back = dyn_cast<ReturnOp>(block.back());
  if (!back)
    return block.back().emitOpError() << "ends the region `" << name << "` of " << op->getName()
                                      << ", and stablehlo.return is expected";
  auto list = [](InFlightDiagnostic &&error, TypeRange found, TypeRange expected) -> LogicalResult {
    error << "(";
    llvm::interleaveComma(found, error);
    error << "), and (";
    llvm::interleaveComma(expected, error);
    return error << ") is expected";
  };
  if (block.getArgumentTypes() != arguments)
    return list(std::move(op->emitOpError() << "region `" << name << "` takes "), block.getArgumentTypes(), arguments);
  if (back.getOperandTypes() != results)
    return list(std::move(back->emitOpError() << "gives "), back.getOperandTypes(), results);
  return success();
}

LogicalResult checkReducer(Operation *op, StringRef name, Region &region, TypeRange elements) {
  SmallVector<Type> scalars;
  for (Type e : elements)
    scalars.push_back(scalarOf(e));
  SmallVector<Type> pairs(scalars);
  pairs.append(scalars);
  return checkRegion(op, name, region, pairs, scalars);
}

} // namespace glia::graph
