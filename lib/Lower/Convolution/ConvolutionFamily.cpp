// stablehlo.convolution with one or two spatial dimensions: forward, and the gradients of input and weights, which are convolutions
// too; with the pointwise operations behind it.
#include "ConvolutionResult.h"
#include "Depthwise.h"
#include "Lower/Contract/Epilogue.h"
#include "Lower/Families.h"

#include <algorithm>

namespace glia::emit {

namespace {

// One of the ways fits.
bool fits(graph::ConvolutionOp op, int64_t sbufBytes) {
  const Convolution all = convolutionOf(op), c = groupOf(all, 0);
  return tapsCost(c, sbufBytes) || positionsCost(c, sbufBytes) || planDepthwise(all, sbufBytes) ||
         planDepthwiseGradient(all, sbufBytes);
}

// One group after the other through the Tensor engine: nanoseconds, about.
std::optional<double> groupsCost(const Convolution &all, int64_t sbufBytes) {
  constexpr double kWideColumn = 1.7, kColumn = 0.42, kGroup = 500;
  const Convolution c = groupOf(all, 0);
  const std::optional<double> taps = tapsCost(c, sbufBytes), positions = positionsCost(c, sbufBytes);
  if (!taps && !positions)
    return std::nullopt;
  const double columns = taps && positions ? std::min(*taps, *positions) : taps ? *taps : *positions;
  return static_cast<double>(std::max(all.groups, all.batchGroups)) *
         (columns * (sizeOf(c.type) == 4 ? kWideColumn : kColumn) + kGroup);
}

bool isEmpty(graph::ConvolutionOp op) {
  return elementsOf(op->getResult(0)) == 0 || elementsOf(op->getOperand(0)) == 0 || elementsOf(op->getOperand(1)) == 0;
}

graph::ConvolutionOp anchorOf(const Group &g) {
  for (mlir::Operation *op : g.ops)
    if (auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op))
      return convolution;
  return nullptr;
}

// Everything lies in memory as the result does, or is the same along some of its dimensions: then what a block reads and writes of it
// is long runs.
bool inOrder(const EpiloguePlan &plan) {
  return llvm::all_of(plan.values, [](const auto &entry) {
    const EpiloguePlan::Value &v = entry.second;
    int last = -1;
    for (int d : v.place)
      if (d >= 0 && std::exchange(last, d) > d)
        return false;
    int64_t stride = INT64_MAX;
    for (const Tile::Dim &d : v.view)
      if (d.count > 1 && d.stride != 0 && std::exchange(stride, d.stride) < d.stride)
        return false;
    return true;
  });
}

// With the operation in the group, what it reads of the group is not stored; and no reduction behind it would rather have it.
bool savesAStore(const Group &g, mlir::Operation *op) {
  for (mlir::Value v : op->getOperands())
    if (mlir::Operation *from = v.getDefiningOp(); from && g.contains(from) && !splatOf(v) && !v.hasOneUse())
      return false;
  return llvm::none_of(op->getResult(0).getUsers(), [](mlir::Operation *user) { return opName(user) == "reduce"; });
}

// Blocks of a size that is worth operations of their own, and not so many that transfers of whole bands would move them better.
bool inGoodBlocks(graph::ConvolutionOp op) {
  constexpr int64_t kFewPositions = 128, kMostBlocks = 16;
  const Tile r = convolutionOf(op).result;
  const int64_t image = r.dims[2].count * r.dims[3].count;
  if (turned(r.permuted({1, 0, 2, 3})) && image < kFewPositions)
    return false;
  return r.dims[0].count * image <= kMostBlocks * kEpilogueColumns;
}

void emitZeros(KernelBuilder &k, const Tile &result) { // an empty contraction
  const Tile zeros = k.sbuf(result.dtype, 1, {1});
  k.fill(zeros, 0);
  Tile from = zeros.rows(0, 1);
  from.dims.clear();
  for (const Tile::Dim &d : result.dims)
    from.dims.push_back({0, d.count});
  k.copy(result, from);
}

class ConvolutionFamily : public Family {
public:
  std::string_view name() const override { return "convolution"; }

  std::optional<std::string> accepts(mlir::Operation *op) const override {
    auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op);
    if (!convolution)
      return std::nullopt;
    for (mlir::Value v : {op->getOperand(0), op->getOperand(1), mlir::Value(op->getResult(0))}) {
      const auto t = machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
      if (!t || (*t != DType::F32 && *t != DType::BF16 && *t != DType::F16))
        return t && !isFloat(*t) ? "convolution of truth values"
                                 : "convolution of an element type other than f32, bf16 and f16";
    }
    return isEmpty(convolution) || fits(convolution, kSmallestSbuf)
               ? ""
               : "a convolution whose window over one output row does not fit the on-chip memory";
  }

  bool takesSplats(mlir::Operation *op) const override { return !llvm::isa<graph::ConvolutionOp>(op); }

  bool joins(const Group &g, mlir::Operation *op) const override {
    constexpr size_t kMostOps = 32;
    constexpr int64_t kMostBytes = 32768; // of SBUF, for the epilogue
    const graph::ConvolutionOp convolution = anchorOf(g);
    if (!convolution || g.ops.size() >= kMostOps || op->getNumResults() != 1 || isEmpty(convolution) ||
        !inGoodBlocks(convolution) || !savesAStore(g, op))
      return false;
    std::vector<mlir::Operation *> ops = g.ops;
    ops.push_back(op);
    const mlir::Value root = convolution->getResult(0);
    const std::optional<EpiloguePlan> plan = planEpilogue(ops, root);
    const int64_t bytes = epilogueBytes(ops, root, kEpilogueColumns);
    return plan && inOrder(*plan) && bytes <= kMostBytes && fits(convolution, kSmallestSbuf - bytes);
  }

  void emit(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, std::span<const Tile> outputs) const override {
    graph::ConvolutionOp op = anchorOf(g);
    const mlir::Value root = op->getResult(0);
    const auto at = [&](mlir::Value v) { // the same tensor may be on both sides
      return inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
    };
    const auto of = std::find(g.outputs.begin(), g.outputs.end(), root);
    std::optional<Epilogue> epilogue;
    if (g.ops.size() > 1)
      epilogue.emplace(k, g, root, inputs, outputs);
    k.location(op.getLoc());
    const Tile place = of == g.outputs.end() ? plainTile(root) : outputs[static_cast<size_t>(of - g.outputs.begin())];
    const Convolution all = convolutionOf(op, at(op->getOperand(0)), at(op->getOperand(1)), place);
    if (all.result.elements() == 0)
      return;
    if (isEmpty(op))
      return emitZeros(k, all.result);
    const int64_t room = k.target().sbufBytes - (epilogue ? epilogueBytes(g.ops, root, kEpilogueColumns) : 0);
    ConvolutionResult result(k, op, all.result, epilogue ? &*epilogue : nullptr);
    const std::optional<double> groups = groupsCost(all, room);
    if (const std::optional<DepthwisePlan> plan = planDepthwise(all, room); plan && (!groups || costOf(*plan) < *groups))
      return emitDepthwise(k, *plan, result);
    if (const std::optional<DepthwiseGradientPlan> plan = planDepthwiseGradient(all, room);
        plan && (!groups || costOf(*plan) < *groups))
      return emitDepthwiseGradient(k, *plan, result);
    for (int64_t i = 0; i < std::max(all.groups, all.batchGroups); ++i) {
      const Convolution c = groupOf(all, i);
      const std::optional<double> taps = tapsCost(c, room), positions = positionsCost(c, room);
      k.location(op.getLoc());
      if (positions && (!taps || *positions < *taps))
        emitPositions(k, c, room, result);
      else
        emitTaps(k, c, room, result);
    }
  }
};

} // namespace

const Family &convolutionFamily() {
  static const ConvolutionFamily family;
  return family;
}

} // namespace glia::emit
