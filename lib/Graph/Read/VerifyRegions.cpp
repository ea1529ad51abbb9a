// Verifiers of reductions, sorting, control flow, tuples and calls.
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

LogicalResult ReduceOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  const auto first = tensor(getInputs()[0]);
  if (failed(checkDims(*this, "dimensions", getDimensions(), first.getRank())) ||
      failed(checkSize(*this, "the list of results", getNumResults(), getInputs().size())))
    return failure();
  Shape shape;
  for (int64_t i = 0; i < first.getRank(); ++i)
    if (!llvm::is_contained(getDimensions(), i))
      shape.push_back(first.getDimSize(i));
  SmallVector<Type> accumulators;
  for (auto [i, in, init] : llvm::enumerate(getInputs(), getInitValues())) {
    if (tensor(in).getShape() != first.getShape())
      return emitOpError() << "inputs " << first << " and " << in.getType() << " have different shapes";
    if (tensor(init).getRank())
      return emitOpError() << "an initial value must have no dimensions, found " << init.getType();
    if (!isPromotable(element(in), element(init)))
      return emitOpError() << "an initial value of " << init.getType() << " cannot accumulate " << in.getType();
    if (failed(checkResult(*this, i, shape, element(init))))
      return failure();
    accumulators.push_back(element(init));
  }
  return checkReducer(*this, "body", getBody(), accumulators);
}

LogicalResult MapOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  const auto result = cast<RankedTensorType>(getType());
  SmallVector<Type> scalars;
  for (Value v : getInputs()) {
    if (tensor(v).getShape() != result.getShape())
      return emitOpError() << "operand " << v.getType() << " and result " << result << " have different shapes";
    scalars.push_back(scalarOf(element(v)));
  }
  if (failed(checkSize(*this, "dimensions", getDimensions().size(), result.getRank())) ||
      failed(checkDims(*this, "dimensions", getDimensions(), result.getRank(), /*sorted=*/true)))
    return failure();
  return checkRegion(*this, "computation", getComputation(), scalars, scalarOf(result.getElementType()));
}

LogicalResult SortOp::verifyRegions() {
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  const auto first = tensor(getInputs()[0]);
  const int64_t rank = first.getRank(), dim = static_cast<int64_t>(getDimension());
  if (dim < -rank || dim >= rank)
    return emitOpError() << "dimension is " << dim << ", and there are " << rank << " dimensions";
  if (getResultTypes() != getOperandTypes())
    return emitOpError() << "results must have the types of the operands";
  SmallVector<Type> scalars;
  for (Value v : getInputs()) {
    if (tensor(v).getShape() != first.getShape())
      return emitOpError() << first << " and " << v.getType() << " have different shapes";
    scalars.append(2, scalarOf(element(v)));
  }
  return checkRegion(*this, "comparator", getComparator(), scalars, scalarOf(IntegerType::get(getContext(), 1)));
}

// ---- control flow -----------------------------------------------------------------------------------------------------------

LogicalResult ReturnOp::verify() {
  if (isa_and_nonnull<func::FuncOp>((*this)->getParentOp()))
    return emitOpError() << "ends regions of stablehlo operations; a function ends with func.return";
  return success();
}

LogicalResult IfOp::verifyRegions() {
  if (getPred().getType().getRank())
    return emitOpError() << "the condition must have no dimensions, found " << getPred().getType();
  if (failed(checkRegion(*this, "true_branch", getTrueBranch(), {}, getResultTypes())))
    return failure();
  return checkRegion(*this, "false_branch", getFalseBranch(), {}, getResultTypes());
}

LogicalResult CaseOp::verifyRegions() {
  if (getBranches().empty())
    return emitOpError() << "needs at least one branch";
  if (failed(checkType(*this, "the index", getIndex().getType(), scalarOf(IntegerType::get(getContext(), 32)))))
    return failure();
  for (Region &branch : getBranches())
    if (failed(checkRegion(*this, "branches", branch, {}, getResultTypes())))
      return failure();
  return success();
}

LogicalResult WhileOp::verifyRegions() {
  if (getResultTypes() != getOperandTypes())
    return emitOpError() << "results must have the types of the operands";
  const Type pred = scalarOf(IntegerType::get(getContext(), 1));
  if (failed(checkRegion(*this, "cond", getCond(), getOperandTypes(), pred)))
    return failure();
  return checkRegion(*this, "body", getBody(), getOperandTypes(), getResultTypes());
}

LogicalResult OptimizationBarrierOp::verify() {
  if (getResultTypes() != getOperandTypes())
    return emitOpError() << "results must have the types of the operands";
  return success();
}

// ---- calls, tuples ----------------------------------------------------------------------------------------------------------

// The type that a path of tuple indices leads to; null when it leads nowhere.
static Type follow(Type type, ArrayRef<int64_t> path) {
  for (int64_t i : path) {
    auto tuple = dyn_cast<TupleType>(type);
    if (!tuple || i < 0 || i >= static_cast<int64_t>(tuple.size()))
      return {};
    type = tuple.getType(i);
  }
  return type;
}

static LogicalResult checkLayouts(Operation *op, StringRef name, std::optional<ArrayAttr> layouts, TypeRange types) {
  if (!layouts)
    return success();
  if (failed(checkSize(op, name, layouts->size(), types.size())))
    return failure();
  for (auto [layout, type] : llvm::zip(*layouts, types)) {
    auto order = dyn_cast<DenseIntElementsAttr>(layout);
    auto shaped = dyn_cast<RankedTensorType>(type);
    if (!order || !order.getElementType().isIndex())
      return op->emitOpError() << name << " must hold dense<...> : tensor<...xindex>";
    if (!shaped)
      continue;
    if (order.getNumElements() != shaped.getRank())
      return op->emitOpError() << name << " has " << order.getNumElements() << " numbers for " << type;
    Shape dims;
    for (const APInt &v : order.getValues<APInt>())
      dims.push_back(v.getSExtValue());
    if (failed(checkDims(op, name, dims, shaped.getRank())))
      return failure();
  }
  return success();
}

LogicalResult CustomCallOp::verify() {
  if (getOperandLayouts().has_value() != getResultLayouts().has_value())
    return emitOpError() << "operand_layouts and result_layouts are given together";
  if (failed(checkLayouts(*this, "operand_layouts", getOperandLayouts(), getOperandTypes())) ||
      failed(checkLayouts(*this, "result_layouts", getResultLayouts(), getResultTypes())))
    return failure();
  for (auto alias : getOutputOperandAliases().getAsRange<OutputOperandAliasAttr>()) {
    const int64_t operand = alias.getOperandIndex();
    if (operand < 0 || operand >= static_cast<int64_t>(getNumOperands()))
      return emitOpError() << "alias of operand " << operand << ", and there are " << getNumOperands();
    // With several results the first number chooses one, as if they were a tuple.
    ArrayRef<int64_t> path = alias.getOutputTupleIndices();
    Type output = getNumResults() == 1 ? getResult(0).getType() : Type();
    if (getNumResults() > 1 && !path.empty() && path[0] >= 0 && path[0] < static_cast<int64_t>(getNumResults())) {
      output = getResult(path[0]).getType();
      path = path.drop_front();
    }
    const Type input = follow(getOperand(operand).getType(), alias.getOperandTupleIndices());
    output = output ? follow(output, path) : output;
    if (!input || !output)
      return emitOpError() << alias << " names no operand or no result";
    if (input != output)
      return emitOpError() << "an alias of " << input << " and " << output;
  }
  return success();
}

LogicalResult TupleOp::verify() {
  if (getResult().getType().getTypes() != getOperandTypes())
    return emitOpError() << "the tuple must have the types of the operands";
  return success();
}

LogicalResult GetTupleElementOp::verify() {
  const auto tuple = getOperand().getType();
  if (getIndex() >= tuple.size())
    return emitOpError() << "index " << getIndex() << " of " << tuple;
  return checkType(*this, "the result", getType(), tuple.getType(getIndex()));
}

} // namespace glia::graph
