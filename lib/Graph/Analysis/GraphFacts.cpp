// What can be said of a value or an operation of a graph by looking at it alone: types, shapes, splats, and what is only another view.
#include "GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"
#include "glia/Graph/FunctionCall.h"
#include "glia/Graph/Graph.h"
#include "glia/Lower/Family.h"

#include "mlir/IR/BuiltinTypes.h"

namespace glia::emit {

bool isFunctionCall(mlir::Operation *op) {
  auto call = llvm::dyn_cast<graph::CustomCallOp>(op);
  llvm::StringRef function = call ? call.getCallTargetName() : llvm::StringRef();
  if (!function.consume_front(graph::kFunctionCall) || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getOperand(0).getType() != op->getResult(0).getType())
    return false;
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType());
  if (!type || !llvm::isa<mlir::FloatType>(type.getElementType()))
    return false;
  return function == "gelu" || function == "gelu_apprx_tanh" || function == "softplus";
}

llvm::StringRef opName(mlir::Operation *op) {
  if (isFunctionCall(op))
    return llvm::cast<graph::CustomCallOp>(op).getCallTargetName().drop_front(graph::kFunctionCall.size());
  return op->getName().stripDialect();
}

std::vector<int64_t> shapeOf(mlir::Value v) {
  const auto t = llvm::cast<mlir::RankedTensorType>(v.getType());
  return {t.getShape().begin(), t.getShape().end()};
}

int64_t elementsOf(mlir::Value v) {
  int64_t n = 1;
  for (int64_t d : shapeOf(v))
    n *= d;
  return n;
}

std::optional<DType> machineType(mlir::Type t) {
  if (t.isF32())
    return DType::F32;
  if (t.isBF16())
    return DType::BF16;
  if (t.isF16())
    return DType::F16;
  if (llvm::isa<mlir::Float8E4M3Type>(t))
    return DType::F8E4M3;
  if (llvm::isa<mlir::Float8E4M3FNType>(t))
    return DType::F8E4M3FN;
  if (llvm::isa<mlir::Float8E5M2Type>(t))
    return DType::F8E5M2;
  if (llvm::isa<mlir::Float8E3M4Type>(t))
    return DType::F8E3M4;
  const auto i = llvm::dyn_cast<mlir::IntegerType>(t);
  if (!i)
    return std::nullopt;
  switch (i.getWidth()) {
  case 1: return DType::U8;
  case 8: return i.isUnsigned() ? DType::U8 : DType::I8;
  case 16: return i.isUnsigned() ? DType::U16 : DType::I16;
  case 32: return i.isUnsigned() ? DType::U32 : DType::I32;
  default: return std::nullopt;
  }
}

DType heldType(mlir::Value v) {
  return machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()).value();
}

std::vector<mlir::Value> readBy(mlir::Operation *op) {
  std::vector<mlir::Value> out(op->operand_begin(), op->operand_end());
  for (mlir::Region &r : op->getRegions())
    r.walk([&](mlir::Operation *inner) {
      for (mlir::Value v : inner->getOperands())
        if (!op->isAncestor(v.getParentRegion()->getParentOp()))
          out.push_back(v);
    });
  return out;
}

std::optional<double> splatOf(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  const llvm::StringRef name = opName(op);
  if (name == "broadcast_in_dim" || name == "broadcast" || name == "reshape" || name == "transpose")
    return splatOf(op->getOperand(0));
  auto value = name == "constant" ? llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value")) : nullptr;
  if (!value || value.getNumElements() == 0 || !(value.isSplat() || value.getNumElements() == 1))
    return std::nullopt;
  const mlir::Type t = value.getElementType();
  if (llvm::isa<mlir::FloatType>(t)) {
    llvm::APFloat f = *value.value_begin<llvm::APFloat>();
    bool lost;
    f.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return f.convertToDouble();
  }
  if (auto i = llvm::dyn_cast<mlir::IntegerType>(t)) {
    const llvm::APInt n = *value.value_begin<llvm::APInt>();
    return i.isUnsigned() || i.getWidth() == 1 ? static_cast<double>(n.getZExtValue())
                                               : static_cast<double>(n.getSExtValue());
  }
  return std::nullopt;
}

bool isAlias(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  if (name == "reshape" || name == "optimization_barrier")
    return true;
  if ((name != "reduce" && name != "broadcast_in_dim") || op->getNumResults() != 1 ||
      elementsOf(op->getOperand(0)) != elementsOf(op->getResult(0)) || elementsOf(op->getResult(0)) == 0)
    return false;
  if (name == "broadcast_in_dim") // only sizes of 1 come in, and nothing changes its place
    return keepsOrder(op);
  std::string why; // only sizes of 1 go away
  const std::optional<Reduction> r = reductionOf(op, why);
  return r && r->identity;
}

mlir::Value aliasOf(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op || !isAlias(op))
    return v;
  return op->getOperand(op->getNumOperands() == 1 ? 0 : llvm::cast<mlir::OpResult>(v).getResultNumber());
}

std::optional<std::vector<int>> keptDims(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  std::vector<int> out;
  size_t i = 0;
  const auto skip = [&] {
    while (i < from.size() && from[i] == 1)
      ++i;
  };
  for (int64_t n : to) {
    skip();
    if (n == 1) {
      out.push_back(-1);
      continue;
    }
    if (i == from.size() || from[i] != n)
      return std::nullopt;
    out.push_back(static_cast<int>(i++));
  }
  skip();
  return i == from.size() ? std::optional(std::move(out)) : std::nullopt;
}

mlir::Value rootOf(mlir::Value v) {
  while (v.getDefiningOp() && isAlias(v.getDefiningOp()))
    v = aliasOf(v);
  return v;
}

bool takes64Bits(mlir::Operation *op) {
  return llvm::any_of(op->getOperandTypes(), [](mlir::Type t) {
    const mlir::Type element = mlir::getElementTypeOrSelf(t);
    return element.isIntOrFloat() && element.getIntOrFloatBitWidth() == 64;
  });
}

bool isEmpty(mlir::Value v) {
  const auto t = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  return t && t.hasStaticShape() && t.getNumElements() == 0;
}

std::vector<int64_t> freeDims(size_t rank, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contract) {
  std::vector<int64_t> out;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (!llvm::is_contained(batch, d) && !llvm::is_contained(contract, d))
      out.push_back(d);
  return out;
}

} // namespace glia::emit
