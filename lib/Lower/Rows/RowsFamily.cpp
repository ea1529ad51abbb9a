// Pointwise operations, broadcasts and reductions: rows on the partitions, columns along them. What a group needs of a row is
// computed while the row is on chip, so that a softmax or a normalisation with its gradients is one kernel.
#include "Lower/Families.h"
#include "RowsKernel.h"
#include "RowsReduce.h"
#include "SlabsKernel.h"

#include <algorithm>

namespace glia::emit {

namespace {

class RowsFamily : public Family {
public:
  std::string_view name() const override { return "rows"; }
  bool takesSplats(mlir::Operation *) const override { return true; }
  bool repeats(mlir::Operation *op) const override {
    const auto isNumber = [](mlir::Value v) { return splatOf(v).has_value(); };
    return opName(op) == "broadcast_in_dim" || opName(op) == "iota" ||
           (isPointwise(opName(op)) && llvm::all_of(op->getOperands(), isNumber));
  }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    const llvm::StringRef name = opName(op);
    if (!isPointwise(name) && name != "broadcast_in_dim" && name != "reduce" && name != "iota")
      return std::nullopt;
    if (name == "broadcast_in_dim" && !keepsOrder(op))
      return std::nullopt; // rows would read it element by element
    std::string why = refusalOf(op);
    if (!why.empty())
      return why;
    if (name == "reduce" && !reductionOf(op, why))
      return why;
    return "";
  }

  bool joins(const Group &g, mlir::Operation *op) const override {
    constexpr size_t kMostOps = 96;
    if (g.ops.size() >= kMostOps || !refusalOf(op).empty())
      return false;
    std::vector<mlir::Operation *> ops = g.ops;
    ops.push_back(op);
    const std::optional<RowsPlan> plan = planRows(ops);
    return (plan && !plan->alone) || planSlabs(ops);
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    std::optional<RowsPlan> plan = planRows(g.ops);
    if (!plan || (plan->alone && !isSumOfLongRows(g.ops[0])))
      if (std::optional<SlabsPlan> slabs = planSlabs(g.ops))
        return writeSlabs(k, g, std::move(*slabs), inputs, outputs);
    if (!plan)
      throw std::logic_error("a group of rows without a plan");
    if (plan->alone && inputs.empty())
      throw std::logic_error("a reduction of a known number"); // constants are folded
    if (plan->alone)
      return reduceAlone(k, g.ops[0], inputs[0], outputs[0]);
    RowsKernel(k, g, std::move(*plan), inputs, outputs).run();
  }
};

} // namespace

const Family &rowsFamily() {
  static const RowsFamily family;
  return family;
}

} // namespace glia::emit
