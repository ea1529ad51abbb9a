#include "Recurrence.h"
#include "Lower/Rows/Combine.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

namespace {

constexpr llvm::StringLiteral kTarget = "glia.recurrence";

bool fits(const Recurrence &r) {
  const auto type = llvm::dyn_cast<mlir::RankedTensorType>(r.terms.getType());
  if (!type || r.factors.getType() != type || !llvm::isa<mlir::FloatType>(type.getElementType()) || r.dim < 0 ||
      r.dim >= type.getRank() || !isRecurrence(r.scale, r.combine))
    return false;
  if (!r.start)
    return true;
  std::vector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + r.dim);
  return r.start.getType() == mlir::RankedTensorType::get(shape, type.getElementType());
}

} // namespace

bool isRecurrence(llvm::StringRef scale, llvm::StringRef combine) {
  return (scale == "multiply" && combine == "add") || (scale == "add" && (combine == "maximum" || combine == "minimum"));
}

std::optional<Recurrence> recurrenceOf(mlir::Operation *op) {
  auto call = op ? llvm::dyn_cast<graph::CustomCallOp>(op) : graph::CustomCallOp();
  if (!call || call.getCallTargetName() != kTarget || op->getNumResults() != 1 || op->getNumOperands() < 2 ||
      op->getNumOperands() > 3)
    return std::nullopt;
  const auto how = llvm::dyn_cast_or_null<mlir::DictionaryAttr>(call.getBackendConfigAttr());
  const auto dim = how ? how.getAs<mlir::IntegerAttr>("dimension") : mlir::IntegerAttr();
  const auto scale = how ? how.getAs<mlir::StringAttr>("scale") : mlir::StringAttr();
  const auto combine = how ? how.getAs<mlir::StringAttr>("combine") : mlir::StringAttr();
  const auto reverse = how ? how.getAs<mlir::BoolAttr>("reverse") : mlir::BoolAttr();
  if (!dim || !scale || !combine || op->getResult(0).getType() != op->getOperand(1).getType())
    return std::nullopt;
  const Recurrence r{op->getOperand(0),
                     op->getOperand(1),
                     op->getNumOperands() == 3 ? op->getOperand(2) : mlir::Value(),
                     dim.getInt(),
                     scale.getValue(),
                     combine.getValue(),
                     reverse && reverse.getValue()};
  return fits(r) ? std::optional(r) : std::nullopt;
}

mlir::Value makeRecurrence(GraphBuilder &g, Recurrence r) {
  int64_t inner = 1;
  for (int64_t n : typeOf(r.terms).getShape().drop_front(static_cast<size_t>(r.dim) + 1))
    inner *= n;
  if (r.reverse && inner == 1) {
    const auto turned = [&](mlir::Value x) {
      return g.make("reverse", {x}, x.getType(), {g.b.getNamedAttr("dimensions", g.b.getDenseI64ArrayAttr({r.dim}))});
    };
    r.factors = turned(r.factors);
    r.terms = turned(r.terms);
    r.reverse = false;
    return turned(makeRecurrence(g, r));
  }
  llvm::SmallVector<mlir::Value, 3> operands{r.factors, r.terms};
  if (r.start)
    operands.push_back(r.start);
  const mlir::NamedAttribute how[] = {
      g.b.getNamedAttr("combine", g.b.getStringAttr(r.combine)), g.b.getNamedAttr("dimension", g.b.getI64IntegerAttr(r.dim)),
      g.b.getNamedAttr("reverse", g.b.getBoolAttr(r.reverse)), g.b.getNamedAttr("scale", g.b.getStringAttr(r.scale))};
  return g.make(
      "custom_call", operands, r.terms.getType(),
      {g.b.getNamedAttr("call_target_name", g.b.getStringAttr(kTarget)),
       g.b.getNamedAttr("backend_config", g.b.getDictionaryAttr(how)),
       g.b.getNamedAttr("api_version", graph::CustomCallApiVersionAttr::get(
                                           g.b.getContext(), graph::CustomCallApiVersion::API_VERSION_TYPED_FFI))});
}

mlir::Value runningFold(GraphBuilder &g, llvm::StringRef op, mlir::Value x, int64_t dim, bool reverse) {
  const mlir::RankedTensorType type = typeOf(x);
  const mlir::Type element = type.getElementType();
  const bool logical = element.isInteger(1);
  const std::string_view alu = combinerOf(op, logical);
  const std::optional<DType> machine = machineType(element);
  if (alu.empty() || !machine)
    return {};
  const mlir::Type scalar = mlir::RankedTensorType::get({}, element);
  const mlir::Value start = g.number(neutralOf(alu, *machine, logical), llvm::cast<mlir::RankedTensorType>(scalar));
  const auto rank = static_cast<size_t>(type.getRank());
  std::vector<int64_t> ones(rank, 1), size = ones, padding(2 * rank, 0);
  size[static_cast<size_t>(dim)] = type.getDimSize(dim);
  padding[2 * static_cast<size_t>(dim) + (reverse ? 1 : 0)] = type.getDimSize(dim) - 1;
  const auto table = mlir::RankedTensorType::get({static_cast<int64_t>(rank), 2}, g.b.getI64Type());
  mlir::OperationState state(
      g.loc, "stablehlo.reduce_window", {x, start}, {type},
      {g.b.getNamedAttr("window_dimensions", g.b.getDenseI64ArrayAttr(size)),
       g.b.getNamedAttr("padding", mlir::DenseIntElementsAttr::get(table, llvm::ArrayRef<int64_t>(padding)))});
  mlir::Region *body = state.addRegion();
  {
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    mlir::Block *block = g.b.createBlock(body, {}, {scalar, scalar}, {g.loc, g.loc});
    const mlir::Value made = g.make(op, {block->getArgument(0), block->getArgument(1)}, scalar);
    mlir::OperationState end(g.loc, "stablehlo.return");
    end.addOperands(made);
    g.b.create(end);
  }
  return g.b.create(state)->getResult(0);
}

} // namespace glia::emit
