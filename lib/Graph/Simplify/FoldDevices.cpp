#include "FoldDevices.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Decompose/CollectiveCall.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

namespace {

// A table of groups, short ones filled up with -1. An empty one is a group of all devices.
bool isAlone(mlir::Operation *op) {
  const auto groups = op->getAttrOfType<mlir::DenseIntElementsAttr>("replica_groups");
  if (!groups)
    return false;
  const llvm::ArrayRef<int64_t> shape = groups.getType().getShape();
  const std::vector<int64_t> devices(groups.getValues<int64_t>().begin(), groups.getValues<int64_t>().end());
  if (devices.empty())
    return true;
  const auto width = static_cast<size_t>(shape.size() == 2 ? shape[1] : 0);
  for (size_t row = 0; width && row < devices.size(); row += width)
    if (llvm::count_if(llvm::ArrayRef(devices).slice(row, width), [](int64_t d) { return d >= 0; }) > 1)
      return false;
  return width && llvm::is_contained(devices, 0);
}

// What an operation of one device gives; empty if it is none.
llvm::SmallVector<mlir::Value> givenBy(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  GraphBuilder g(op);
  if (name == "partition_id" || name == "replica_id")
    return {g.number(0, op->getResult(0))};
  if (name == "collective_permute") {
    const auto pairs = op->getAttrOfType<mlir::DenseIntElementsAttr>("source_target_pairs");
    if (!pairs || llvm::any_of(pairs.getValues<int64_t>(), [](int64_t d) { return d != 0; }))
      return {};
    return {pairs.empty() ? g.number(0, op->getResult(0)) : op->getOperand(0)};
  }
  if (!isExchange(op) || !isAlone(op) || op->getOperandTypes() != op->getResultTypes())
    return {};
  return op->getOperands();
}

bool isOne(mlir::ModuleOp module, llvm::StringRef attribute) {
  const auto count = module->getAttrOfType<mlir::IntegerAttr>(attribute);
  return !count || count.getInt() == 1;
}

} // namespace

void foldDevices(mlir::func::FuncOp main) {
  const auto module = main->getParentOfType<mlir::ModuleOp>();
  if (!isOne(module, "mhlo.num_partitions") || !isOne(module, "mhlo.num_replicas"))
    return;
  for (mlir::Operation *op : programOps(main))
    if (const llvm::SmallVector<mlir::Value> given = givenBy(op); !given.empty()) {
      op->replaceAllUsesWith(given);
      op->erase();
    }
}

} // namespace glia::emit
