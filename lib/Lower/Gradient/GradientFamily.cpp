// Gradients of weighted means, with the pointwise operations behind each of their results: nothing that has an element for each score leaves the chip.
#include "GradientKernel.h"
#include "Lower/Families.h"

#include "mlir/IR/TypeUtilities.h"

namespace glia::emit {

namespace {

std::optional<WeightedGradient> gradientIn(llvm::ArrayRef<mlir::Operation *> ops) {
  for (mlir::Operation *op : ops)
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      if (std::optional<WeightedGradient> g = matchGradient(dot); g && g->products.front().dot == dot)
        return g;
  return std::nullopt;
}

// What comes behind each product, which is the first of it; nullopt: something hangs on two of them.
std::optional<std::vector<std::vector<mlir::Operation *>>> behindOf(llvm::ArrayRef<mlir::Operation *> ops,
                                                                    const WeightedGradient &g) {
  llvm::DenseMap<mlir::Operation *, size_t> owner;
  for (size_t i = 0; i < g.products.size(); ++i)
    owner[g.products[i].dot] = i;
  std::vector<mlir::Operation *> more;
  for (mlir::Operation *op : ops) {
    if (g.ops.contains(op) || g.beside.contains(op))
      continue;
    more.push_back(op);
    for (mlir::Value v : op->getOperands())
      if (const auto it = owner.find(v.getDefiningOp()); it != owner.end()) {
        const size_t mine = it->second;
        if (const auto [own, fresh] = owner.try_emplace(op, mine); !fresh && own->second != mine)
          return std::nullopt;
      }
  }
  std::vector<std::vector<mlir::Operation *>> out(g.products.size());
  for (size_t i = 0; i < out.size(); ++i) {
    llvm::DenseSet<mlir::Operation *> mine;
    // What hangs on none belongs to whoever reads it.
    for (mlir::Operation *op : llvm::reverse(more)) {
      const auto it = owner.find(op);
      if (it != owner.end() ? it->second == i
                            : llvm::any_of(op->getUsers(), [&](mlir::Operation *u) { return mine.contains(u); }))
        mine.insert(op);
    }
    out[i].push_back(g.products[i].dot);
    for (mlir::Operation *op : more)
      if (mine.contains(op))
        out[i].push_back(op);
  }
  return out;
}

class GradientFamily : public Family {
public:
  std::string_view name() const override { return "gradient"; }
  bool takesSplats(mlir::Operation *) const override { return true; }
  bool writesConstant(mlir::Operation *op, unsigned operand) const override {
    return isConstantCondition(op->getOperand(operand));
  }
  std::optional<std::string> accepts(mlir::Operation *) const override { return std::nullopt; }

  Seed seeds(mlir::Operation *op, const Target &target) const override {
    auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
    const std::optional<WeightedGradient> g = dot ? plannedGradient(dot, target) : std::nullopt;
    if (!g || g->products.front().dot != dot)
      return {};
    Seed out;
    out.ops.assign(g->ops.begin(), g->ops.end());
    out.ops.insert(out.ops.end(), g->beside.begin(), g->beside.end());
    for (const WeightedGradient::Product &x : g->products)
      out.results.push_back(x.dot);
    return out;
  }

  bool joins(const Group &group, mlir::Operation *op) const override {
    constexpr size_t kMostBehind = 32;
    constexpr int64_t kMostBytes = 16384; // of SBUF
    const std::optional<WeightedGradient> g = gradientIn(group.ops);
    if (!g || op->getNumResults() != 1 || onlyReduced(op->getResult(0)))
      return false;
    std::vector<mlir::Operation *> ops = group.ops;
    ops.push_back(op);
    const auto behind = behindOf(ops, *g);
    if (!behind)
      return false;
    size_t found = 0;
    for (size_t i = 0; i < behind->size(); ++i) {
      const std::vector<mlir::Operation *> &mine = (*behind)[i];
      if (!llvm::is_contained(mine, op))
        continue;
      ++found;
      graph::DotGeneralOp dot = g->products[i].dot;
      const mlir::Value root = dot->getResult(0);
      if (mine.size() > kMostBehind || !planEpilogue(mine, root) ||
          epilogueBytes(mine, root, shapeOf(root).back()) > kMostBytes)
        return false;
    }
    return found == 1;
  }

  void emit(KernelBuilder &k, const Group &group, std::span<const Tile> inputs,
            std::span<const Tile> outputs) const override {
    const std::optional<WeightedGradient> g = gradientIn(group.ops);
    const auto at = [&](mlir::Value v) {
      return &inputs[static_cast<size_t>(std::find(group.inputs.begin(), group.inputs.end(), v) - group.inputs.begin())];
    };
    std::vector<Group> behind;
    std::vector<std::vector<Tile>> stored;
    const auto sets = behindOf(group.ops, *g);
    for (const std::vector<mlir::Operation *> &ops : *sets) {
      Group mine = group;
      mine.ops = ops;
      mine.outputs.clear();
      stored.emplace_back();
      for (size_t i = 0; i < group.outputs.size(); ++i)
        if (llvm::is_contained(mine.ops, group.outputs[i].getDefiningOp())) {
          mine.outputs.push_back(group.outputs[i]);
          stored.back().push_back(outputs[i]);
        }
      behind.push_back(std::move(mine));
    }
    GradientOperands::Behind epilogues;
    for (size_t i = 0; i < behind.size(); ++i) {
      graph::DotGeneralOp dot = g->products[i].dot;
      epilogues.push_back(std::make_unique<Epilogue>(k, behind[i], dot->getResult(0), inputs, stored[i]));
    }
    const std::optional<GradientPlan> p = planGradient(*g, k.target(), at);
    GradientKernel(k, *g, *p, epilogues, at).run();
  }
};

} // namespace

const Family &gradientFamily() {
  static const GradientFamily family;
  return family;
}

} // namespace glia::emit
