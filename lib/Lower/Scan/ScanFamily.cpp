// Recurrences along one dimension: glia.recurrence (Graph/Analysis/Recurrence.h).
#include "Graph/Analysis/Recurrence.h"
#include "Lower/Families.h"
#include "Lower/Rows/Combine.h"
#include "ScanSteps.h"

#include <algorithm>

namespace glia::emit {

namespace {

class ScanFamily : public Family {
public:
  std::string_view name() const override { return "scan"; }
  bool takesSplats(mlir::Operation *) const override { return true; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    const std::optional<Recurrence> r = recurrenceOf(op);
    if (!r)
      return std::nullopt;
    const std::optional<DType> t = machineType(elementOf(r->terms));
    if (!t || !isFloat(*t) || sizeOf(*t) < 2)
      return "a recurrence of a type that the device does not compute on";
    const llvm::ArrayRef<int64_t> behind = typeOf(r->terms).getShape().drop_front(static_cast<size_t>(r->dim) + 1);
    if (r->reverse && llvm::all_of(behind, [](int64_t n) { return n == 1; }))
      return "a recurrence from the last element of its memory to the first";
    return "";
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    mlir::Operation *op = g.ops[0];
    k.location(op->getLoc());
    const Recurrence r = *recurrenceOf(op);
    const auto operand = [&](mlir::Value v) -> ScanOperand {
      const auto it = std::find(g.inputs.begin(), g.inputs.end(), v);
      if (it == g.inputs.end())
        return {{}, splatOf(v).value()};
      return {inputs[static_cast<size_t>(it - g.inputs.begin())], 0};
    };
    ScanForm f;
    const std::vector<int64_t> shape = shapeOf(r.terms);
    for (size_t d = 0; d < shape.size(); ++d)
      (static_cast<int64_t>(d) < r.dim ? f.outer : static_cast<int64_t>(d) > r.dim ? f.inner : f.length) *= shape[d];
    f.backward = r.reverse;
    f.type = *machineType(elementOf(r.terms));
    f.op0 = combinerOf(r.scale, false);
    f.op1 = combinerOf(r.combine, false);
    f.factors = operand(r.factors);
    f.terms = operand(r.terms);
    if (r.start)
      f.start = operand(r.start);
    f.out = outputs[0];
    if (elementsOf(op->getResult(0)) == 0)
      return;
    if (prefersSteps(k.target(), f))
      emitScanSteps(k, f);
    else
      emitScan(k, f);
  }
};

} // namespace

const Family &scanFamily() {
  static const ScanFamily family;
  return family;
}

} // namespace glia::emit
