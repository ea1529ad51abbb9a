// What operations of rows are by themselves.
#include "Combine.h"
#include "Graph/Analysis/BodyLaws.h"
#include "RowsPlan.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

bool isPointwise(llvm::StringRef name) {
  static constexpr llvm::StringLiteral kNames[] = {"add",
                                                   "subtract",
                                                   "multiply",
                                                   "divide",
                                                   "maximum",
                                                   "minimum",
                                                   "negate",
                                                   "abs",
                                                   "sign",
                                                   "sqrt",
                                                   "rsqrt",
                                                   "power",
                                                   "tanh",
                                                   "exponential",
                                                   "log",
                                                   "convert",
                                                   "compare",
                                                   "select",
                                                   "clamp",
                                                   "and",
                                                   "or",
                                                   "xor",
                                                   "not",
                                                   "log_plus_one",
                                                   "floor",
                                                   "ceil",
                                                   "erf",
                                                   "square",
                                                   "logistic",
                                                   "is_finite",
                                                   "exponential_minus_one",
                                                   "round_nearest_even",
                                                   "round_nearest_afz",
                                                   "sine",
                                                   "cosine",
                                                   "remainder",
                                                   "shift_left",
                                                   "shift_right_logical",
                                                   "shift_right_arithmetic",
                                                   "count_leading_zeros",
                                                   "popcnt",
                                                   "bitcast_convert",
                                                   "atan",
                                                   "gelu",
                                                   "gelu_apprx_tanh",
                                                   "softplus"};
  return llvm::is_contained(kNames, name);
}

bool keepsOrder(mlir::Operation *op) {
  const std::vector<int64_t> shape = shapeOf(op->getOperand(0));
  const auto dims = llvm::cast<graph::BroadcastInDimOp>(op).getBroadcastDimensions();
  int64_t last = -1;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) {
      if (dims[i] <= last)
        return false;
      last = dims[i];
    }
  return true;
}

std::string_view comparisonOf(mlir::Operation *op) {
  static constexpr std::string_view kNames[] = {"equal", "not_equal", "greater_equal", "greater", "less_equal", "less"};
  auto compare = llvm::cast<graph::CompareOp>(op);
  if (compare.getCompareType() == graph::ComparisonType::TOTALORDER)
    return {};
  return kNames[static_cast<size_t>(compare.getComparisonDirection())];
}

namespace {

DType typeOf(mlir::Value v) {
  return machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()).value_or(DType::F32);
}
bool isBool(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType().isInteger(1); }

} // namespace

std::optional<Reduction> reductionOf(mlir::Operation *op, std::string &why) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 1) {
    why = "a reduction of several tensors together";
    return std::nullopt;
  }
  mlir::Block &body = op->getRegion(0).front();
  const auto order = [&]() -> std::string { // fewer are taken one after the other
    return isAssociative(body) == false ? ", of more than 128 elements whose order counts" : "";
  };
  if (body.getOperations().size() != 2 || body.front().getNumOperands() != 2) {
    why = "a reduction whose body is more than one operation of two values" + order();
    return std::nullopt;
  }
  mlir::Operation &inner = body.front();
  const bool both = (inner.getOperand(0) == body.getArgument(0) && inner.getOperand(1) == body.getArgument(1)) ||
                    (inner.getOperand(0) == body.getArgument(1) && inner.getOperand(1) == body.getArgument(0));
  const mlir::Value data = op->getOperand(0);
  const bool logical = isBool(data);
  Reduction r;
  r.op = combinerOf(opName(&inner), logical);
  r.type = typeOf(data);
  if (r.op.empty() || !both || body.getTerminator()->getOperand(0) != inner.getResult(0)) {
    why = "a reduction with `" + opName(&inner).str() + "`" + order();
    return std::nullopt;
  }
  if (op->getResult(0).getType() !=
      mlir::RankedTensorType::get(llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()).getShape(),
                                  llvm::cast<mlir::RankedTensorType>(data.getType()).getElementType())) {
    why = "a reduction to another element type";
    return std::nullopt;
  }
  const std::optional<double> start = splatOf(op->getOperand(1));
  if (!start) {
    why = "a reduction that starts from a computed value";
    return std::nullopt;
  }
  r.start = *start;
  r.identity = isNeutral(r.op, r.start, r.type, logical);
  const bool narrow = !isFloat(r.type) && sizeOf(r.type) < 4 && !logical;
  if (narrow && (r.op == "add" || r.op == "multiply")) {
    why = "sums and products of 8- and 16-bit integers";
    return std::nullopt;
  }
  if (!r.identity && !isFloat(r.type)) {
    why = "a reduction of integers that starts from another value than the neutral one";
    return std::nullopt;
  }
  const auto dims = llvm::cast<graph::ReduceOp>(op).getDimensions();
  r.dims.assign(dims.begin(), dims.end());
  return r;
}

} // namespace glia::emit
