#include "CollectiveCall.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

bool isExchange(mlir::Operation *op) {
  static constexpr llvm::StringLiteral kNames[] = {"all_reduce",        "all_gather",           "all_to_all",
                                                   "reduce_scatter",    "collective_broadcast", "collective_reduce",
                                                   "cross-replica-sum", "collective_permute"};
  return llvm::is_contained(kNames, opName(op));
}

bool isCollectiveCall(mlir::Operation *op) {
  const auto name = opName(op) == "custom_call" ? op->getAttrOfType<mlir::StringAttr>("call_target_name") : nullptr;
  return name && name.getValue() == kCollectiveTarget;
}

std::optional<Collective> collectiveCall(mlir::Operation *op) {
  const auto config = op->getAttrOfType<mlir::DictionaryAttr>("backend_config");
  if (!config || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  const auto kind = config.getAs<mlir::StringAttr>("kind"), how = config.getAs<mlir::StringAttr>("op");
  const auto ranks = config.getAs<mlir::IntegerAttr>("ranks"), width = config.getAs<mlir::IntegerAttr>("width");
  const auto groups = config.getAs<mlir::DenseI32ArrayAttr>("groups");
  if (!kind || !how || !ranks || !width || !groups)
    return std::nullopt;
  const int k = collectiveKindNames().find(kind.getValue()), o = collectiveOpNames().find(how.getValue());
  if (k < 0 || o < 0)
    return std::nullopt;
  Collective c;
  c.kind = static_cast<CollectiveKind>(k);
  c.op = static_cast<CollectiveOp>(o);
  c.ranks = static_cast<int>(ranks.getInt());
  c.width = static_cast<int>(width.getInt());
  c.groups.assign(groups.asArrayRef().begin(), groups.asArrayRef().end());
  return c;
}

} // namespace glia::emit
