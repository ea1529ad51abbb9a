// dot_general: sums of products over any dimensions, with the pointwise operations behind it. The contraction is on the partitions of
// both operands, in blocks of 128; the sums of 128 rows and 512 columns stay in PSUM over the whole contraction.
#include "ContractKernel.h"
#include "Lower/Families.h"
#include "MadeRows.h"
#include "WholeRows.h"

#include <algorithm>

namespace glia::emit {

namespace {

// The contraction that the others are behind or beside: the longest.
graph::DotGeneralOp anchorOf(llvm::ArrayRef<mlir::Operation *> ops) {
  const auto length = [](graph::DotGeneralOp dot) {
    return elementsOf(dot->getOperand(0)) * elementsOf(dot->getOperand(1)) /
           std::max<int64_t>(1, elementsOf(dot->getResult(0)));
  };
  graph::DotGeneralOp anchor;
  for (mlir::Operation *op : ops)
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op); dot && (!anchor || length(dot) > length(anchor)))
      anchor = dot;
  return anchor;
}

// For the operands of products beside it.
int64_t shortBytes(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root) {
  int64_t bytes = 0;
  for (mlir::Operation *op : ops)
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op); dot && dot->getResult(0) != root)
      bytes += shortProductBytes(dot);
  return bytes;
}

class ContractFamily : public Family {
public:
  std::string_view name() const override { return "dot"; }
  bool takesSplats(mlir::Operation *) const override { return true; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
    if (!dot)
      return std::nullopt;
    for (mlir::Value v : {op->getOperand(0), op->getOperand(1), mlir::Value(op->getResult(0))}) {
      const auto t = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
      if (!t)
        return "the device does not hold its element type";
      if (!isFloat(*t))
        return "sums of products of integers";
    }
    return "";
  }

  // Rows that are made for one contraction only are made in its kernel.
  Seed seeds(mlir::Operation *op, const Target &) const override {
    auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
    std::vector<mlir::Operation *> ops = dot ? rowsBefore(dot) : std::vector<mlir::Operation *>{};
    if (ops.empty())
      return {};
    ops.push_back(op);
    return {std::move(ops), {op}};
  }

  bool joins(const Group &g, mlir::Operation *op) const override {
    constexpr size_t kMostOps = 64;
    constexpr int64_t kMostBytes = 32768; // of SBUF, for the epilogue, and as much for short products
    std::vector<mlir::Operation *> ops = g.ops;
    ops.push_back(op);
    const graph::DotGeneralOp dot = anchorOf(ops);
    if (!anchorOf(g.ops) || llvm::isa<graph::DotGeneralOp>(op) || g.ops.size() >= kMostOps || op->getNumResults() != 1)
      return false;
    const std::vector<mlir::Operation *> before = madeBefore(ops, dot);
    if (!before.empty()) { // whose rows come in their own order
      if (opName(op) == "transpose" || onlyReduced(op->getResult(0)) || anchorOf(before))
        return false;
      ops = without(ops, before);
    }
    if (onlyReduced(op->getResult(0)))
      return planWholeRows(withReductions(ops), dot).has_value();
    if (before.empty() && planWholeRows(ops, dot))
      return true;
    const mlir::Value root = dot->getResult(0);
    std::optional<EpiloguePlan> plan = planEpilogue(ops, root, true);
    return plan && storesRuns(plan->values[op->getResult(0)], dot) && epilogueBytes(ops, root, kColumnBlock) <= kMostBytes &&
           shortBytes(ops, root) <= kMostBytes;
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    graph::DotGeneralOp dot = anchorOf(g.ops);
    const auto at = [&](mlir::Value v) -> const Tile * { // the same tensor may be on both sides
      const auto it = std::find(g.inputs.begin(), g.inputs.end(), v);
      return it == g.inputs.end() ? nullptr : &inputs[static_cast<size_t>(it - g.inputs.begin())];
    };
    const mlir::Value root = dot->getResult(0);
    Group behind = g;
    std::optional<MadeRows> made;
    if (std::vector<mlir::Operation *> before = madeBefore(g.ops, dot); !before.empty()) {
      behind.ops = without(g.ops, before);
      made.emplace(k, g, std::move(before), dot, inputs);
    } else if (std::optional<WholeRowsPlan> whole = planWholeRows(g.ops, dot)) {
      return writeWholeRows(k, g, dot, std::move(*whole), inputs, outputs);
    }
    Epilogue epilogue(k, behind, root, inputs, outputs, true);
    const Tile shape = made ? made->shape() : Tile();
    const ContractPlan plan = planContraction(
        k.target(), dot, made ? &shape : at(dot->getOperand(0)), at(dot->getOperand(1)), epilogue.strides(),
        epilogueBytes(behind.ops, root, kColumnBlock) + shortBytes(behind.ops, root), made ? &*made : nullptr);
    writeContraction(k, plan, epilogue, root);
  }

private:
  static std::vector<mlir::Operation *> without(llvm::ArrayRef<mlir::Operation *> ops,
                                                llvm::ArrayRef<mlir::Operation *> others) {
    std::vector<mlir::Operation *> out;
    llvm::copy_if(ops, std::back_inserter(out), [&](mlir::Operation *op) { return !llvm::is_contained(others, op); });
    return out;
  }

  // And the reductions that read the last of them, through reshapes.
  static std::vector<mlir::Operation *> withReductions(std::vector<mlir::Operation *> ops) {
    const size_t last = ops.size() - 1;
    for (size_t i = last; i < ops.size(); ++i)
      if (i == last || isAlias(ops[i]))
        for (mlir::Operation *user : ops[i]->getUsers())
          if (!llvm::is_contained(ops, user))
            ops.push_back(user);
    return ops;
  }

  // The last dimension is no batch: what is stored together is computed together.
  static bool storesRuns(const EpiloguePlan::Value &v, graph::DotGeneralOp dot) {
    for (size_t i = v.place.size(); i-- > 0;)
      if (v.place[i] >= 0 && shapeOf(dot->getResult(0))[static_cast<size_t>(v.place[i])] != 1)
        return v.place[i] >= static_cast<int>(dot.getDotDimensionNumbers().getLhsBatchingDimensions().size());
    return true;
  }
};

} // namespace

const Family &contractFamily() {
  static const ContractFamily family;
  return family;
}

} // namespace glia::emit
