#include "MadeRows.h"
#include "ContractPlan.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr size_t kMostOps = 48;
constexpr int64_t kFewRows = 32;
constexpr int64_t kMostBytes = 65536; // per partition
constexpr int kFar = 8;               // operations between a contraction and what it is looked for from

bool isOfRows(mlir::Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  const llvm::StringRef name = opName(op);
  std::string why;
  return ((isPointwise(name) || name == "broadcast_in_dim") && refusalOf(op).empty()) || name == "reshape" ||
         (name == "reduce" && reductionOf(op, why));
}

// A contraction or convolution gives the value, or what it is made of element by element: that kernel takes what comes behind it.
bool comesFromProducts(mlir::Value v, int depth = kFar) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op || splatOf(v))
    return false;
  if (depth == 0 || opName(op) == "dot_general" || opName(op) == "convolution")
    return true;
  return (isPointwise(opName(op)) || isAlias(op)) &&
         llvm::any_of(op->getOperands(), [&](mlir::Value o) { return comesFromProducts(o, depth - 1); });
}

std::optional<RowsPlan> planMade(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot) {
  const mlir::Value lhs = dot->getOperand(0);
  const int64_t columns = shapeOf(lhs).back();
  std::optional<RowsPlan> plan = planRows(ops);
  if (!plan || plan->alone || !plan->after.empty() || !plan->joined.empty() || plan->columns != columns ||
      plan->chunk != columns || plan->elements != elementsOf(lhs) || plan->alive * columns > kMostBytes ||
      llvm::any_of(plan->values, [](const auto &v) { return v.second.kind == RowsKind::Sum; }))
    return std::nullopt;
  const RowsKind kind = plan->values[lhs].kind;
  return kind == RowsKind::Computed || kind == RowsKind::RowSpread ? std::move(plan) : std::nullopt;
}

} // namespace

std::vector<mlir::Operation *> madeBefore(llvm::ArrayRef<mlir::Operation *> ops, graph::DotGeneralOp dot) {
  llvm::DenseSet<mlir::Operation *> needed{dot};
  std::vector<mlir::Operation *> out;
  for (mlir::Operation *op : llvm::reverse(ops))
    if (op != dot && llvm::any_of(op->getUsers(), [&](mlir::Operation *u) { return needed.contains(u); })) {
      needed.insert(op);
      out.insert(out.begin(), op);
    }
  return out;
}

std::vector<mlir::Operation *> rowsBefore(graph::DotGeneralOp dot) {
  const auto n = dot.getDotDimensionNumbers();
  const mlir::Value lhs = dot->getOperand(0);
  const std::vector<int64_t> shape = shapeOf(lhs);
  if (!n.getLhsBatchingDimensions().empty() || n.getLhsContractingDimensions().size() != 1 || shape.empty() ||
      n.getLhsContractingDimensions()[0] != static_cast<int64_t>(shape.size()) - 1 || elementsOf(lhs) == 0)
    return {};
  const int64_t depth = shape.back(), rows = elementsOf(lhs) / depth, columns = elementsOf(dot->getResult(0)) / rows;
  if (rows < kFewRows || !isFloat(heldType(lhs)) || sizeOf(heldType(lhs)) == 1 ||
      productsOf(rows, columns, depth) > kMostProducts)
    return {};
  // From the contraction backwards: what only serves it.
  llvm::DenseSet<mlir::Operation *> inside{dot};
  std::vector<mlir::Operation *> out, open;
  const auto look = [&](mlir::Value v) {
    if (mlir::Operation *op = v.getDefiningOp();
        op && op->getBlock() == dot->getBlock() && !splatOf(v) && !llvm::is_contained(open, op))
      open.push_back(op);
  };
  bool reduces = false;
  for (look(lhs); !open.empty();) {
    const auto last = std::max_element(open.begin(), open.end(),
                                       [](mlir::Operation *a, mlir::Operation *b) { return a->isBeforeInBlock(b); });
    mlir::Operation *op = *last;
    open.erase(last);
    if (!isOfRows(op) || !llvm::all_of(op->getUsers(), [&](mlir::Operation *u) { return inside.contains(u); })) {
      if (llvm::any_of(op->getResults(), [](mlir::Value v) { return comesFromProducts(v); }))
        return {};
      continue;
    }
    inside.insert(op);
    out.insert(out.begin(), op);
    reduces |= opName(op) == "reduce";
    if (out.size() > kMostOps)
      return {};
    for (mlir::Value v : op->getOperands())
      look(v);
  }
  return reduces && planMade(out, dot) ? out : std::vector<mlir::Operation *>{};
}

MadeRows::MadeRows(KernelBuilder &k, const Group &g, std::vector<mlir::Operation *> ops, graph::DotGeneralOp dot,
                   std::span<const Tile> inputs)
    : k(k), group{g.family, std::move(ops), g.inputs, {}, {}, {}, g.fewTables}, value(dot->getOperand(0)),
      kernel(k, group, planMade(group.ops, dot).value(), inputs, {}) {
  need = planMade(group.ops, dot)->alive * shapeOf(value).back();
}

Tile MadeRows::shape() const {
  Tile t;
  t.dtype = heldType(value);
  t.dims = contiguous(shapeOf(value));
  return t;
}

Tile MadeRows::rows(DType type, int64_t first, int64_t n) {
  if (first == lastFirst && last.partitions == n && last.dtype == type)
    return last;
  last = kernel.make(value, first, n);
  lastFirst = first;
  if (last.dtype != type) {
    const Tile wide = k.sbuf(type, n, {last.elements()});
    k.move(wide, last);
    last = wide;
  }
  return last;
}

} // namespace glia::emit
