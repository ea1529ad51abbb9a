// Windows that slide over a tensor: reduce_window (pooling, running sums) and select_and_scatter (the gradient of max
// pooling).
#include "Lower/Families.h"
#include "WindowReduce.h"
#include "WindowSelect.h"

#include <algorithm>

namespace glia::emit {

namespace {

class WindowFamily : public Family {
public:
  std::string_view name() const override { return "window"; }
  bool takesSplats(mlir::Operation *) const override { return true; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    if (opName(op) == "reduce_window")
      return refuseWindowReduction(op);
    if (opName(op) == "select_and_scatter")
      return refuseSelectAndScatter(op);
    return std::nullopt;
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    mlir::Operation *op = g.ops[0];
    k.location(op->getLoc());
    const auto at = [&](mlir::Value v) -> Tile { // a number everywhere has no tensor
      const auto it = std::find(g.inputs.begin(), g.inputs.end(), v);
      return it == g.inputs.end() ? Tile() : inputs[static_cast<size_t>(it - g.inputs.begin())];
    };
    const mlir::Value data = op->getOperand(0);
    if (opName(op) == "select_and_scatter")
      return emitSelectAndScatter(k, op, at(data), at(op->getOperand(1)), outputs[0]);
    emitWindowReduction(k, op, at(data), splatOf(data), outputs[0]);
  }
};

} // namespace

const Family &windowFamily() {
  static const WindowFamily family;
  return family;
}

} // namespace glia::emit
