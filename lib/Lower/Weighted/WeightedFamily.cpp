// Means weighted by a softmax, with the pointwise operations behind them: scores and weights never leave the chip.
#include "Lower/Families.h"
#include "Lower/Gradient/GradientPlan.h"
#include "WeightedKernel.h"
#include "WeightedRows.h"
#include "WeightedTiles.h"

#include "mlir/IR/TypeUtilities.h"

namespace glia::emit {

namespace {

constexpr int64_t kMostInstructions = 60'000;
constexpr int64_t kWidest = kBank - 1;      // values: a bank of PSUM holds their sums, and that of the weights
constexpr int64_t kLeastScores = 128 * 128; // fewer cost more instructions one by one than through HBM together

// Whoever else reads scores or weights makes them again: a gradient of the mean.
bool othersMakeTheirOwn(const WeightedMean &m, const Target &target) {
  constexpr size_t kMostSeen = 100; // operations
  const std::vector<mlir::Operation *> others = othersThatRead(m);
  if (others.empty())
    return true;
  // The gradient has a product behind any of them.
  llvm::SetVector<mlir::Operation *> seen(others.begin(), others.end());
  for (size_t i = 0; i < std::min(seen.size(), kMostSeen); ++i) {
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(seen[i])) {
      const std::optional<WeightedGradient> g = plannedGradient(dot, target);
      if (g && g->scores == m.scores)
        return llvm::all_of(others, [&](mlir::Operation *op) { return g->ops.contains(op); });
      continue;
    }
    for (mlir::Operation *user : seen[i]->getUsers())
      if (user->getBlock() == m.scores->getBlock())
        seen.insert(user);
  }
  return false;
}

graph::DotGeneralOp lastDot(llvm::ArrayRef<mlir::Operation *> ops) {
  for (mlir::Operation *op : llvm::reverse(ops))
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      return dot;
  return nullptr;
}

// What comes behind the mean, which is the first of it.
std::vector<mlir::Operation *> behindOf(llvm::ArrayRef<mlir::Operation *> ops, const WeightedMean &m) {
  std::vector<mlir::Operation *> out;
  for (mlir::Operation *op : ops)
    if (op == m.result->getResult(0).getDefiningOp() || (!m.ops.contains(op) && !m.beside.contains(op)))
      out.push_back(op);
  return out;
}

class WeightedFamily : public Family {
public:
  std::string_view name() const override { return "mean"; }
  bool takesSplats(mlir::Operation *) const override { return true; }
  bool writesConstant(mlir::Operation *op, unsigned operand) const override {
    return isConstantCondition(op->getOperand(operand));
  }
  std::optional<std::string> accepts(mlir::Operation *) const override { return std::nullopt; }

  Seed seeds(mlir::Operation *op, const Target &target) const override {
    auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
    const std::optional<WeightedMean> m = dot ? matchWeightedMean(dot) : std::nullopt;
    const std::optional<WeightedPlan> p = m ? planWeightedMean(*m, target) : std::nullopt;
    if (!p || p->row.count * p->columns < kLeastScores || p->width > kWidest || p->instructions() > kMostInstructions ||
        p->bytes() > target.sbufBytes / 16 * 15 || !othersMakeTheirOwn(*m, target))
      return {};
    Seed out{{m->ops.begin(), m->ops.end()}, {op}};
    out.ops.insert(out.ops.end(), m->beside.begin(), m->beside.end());
    return out;
  }

  bool joins(const Group &g, mlir::Operation *op) const override {
    constexpr size_t kMostBehind = 32;
    constexpr int64_t kMostBytes = 32768; // of SBUF
    const std::optional<WeightedMean> m = matchWeightedMean(lastDot(g.ops));
    if (!m || op->getNumResults() != 1 || onlyReduced(op->getResult(0)))
      return false;
    std::vector<mlir::Operation *> ops = behindOf(g.ops, *m);
    ops.push_back(op);
    const mlir::Value root = m->result->getResult(0);
    return ops.size() <= kMostBehind && planEpilogue(ops, root) && epilogueBytes(ops, root, widthOf(*m)) <= kMostBytes;
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    const std::optional<WeightedMean> m = matchWeightedMean(lastDot(g.ops));
    const auto at = [&](mlir::Value v) {
      return &inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
    };
    Group behind = g;
    behind.ops = behindOf(g.ops, *m);
    Epilogue epilogue(k, behind, m->result->getResult(0), inputs, outputs);
    const std::optional<WeightedPlan> p = planWeightedMean(
        *m, k.target(), at(m->scores->getOperand(0)), at(m->scores->getOperand(1)), at(m->result->getOperand(1 - m->side)));
    if (p->group)
      return WeightedTiles(k, *m, *p, epilogue).run();
    if (!p->together)
      return WeightedKernel(k, *m, *p, epilogue).run();
    std::vector<std::vector<Tile>> tensors;
    for (const ScoreStep &s : m->steps) {
      tensors.emplace_back();
      for (const TensorView &view : s.beside.views)
        tensors.back().push_back(*at(view.source));
    }
    WeightedRows(k, *m, *p, epilogue, std::move(tensors)).run();
  }
};

} // namespace

const Family &weightedFamily() {
  static const WeightedFamily family;
  return family;
}

} // namespace glia::emit
