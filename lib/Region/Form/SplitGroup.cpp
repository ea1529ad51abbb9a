#include "SplitGroup.h"
#include "Lower/Families.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"
#include "Lower/Rows/SlabsPlan.h"

#include "mlir/IR/IRMapping.h"

namespace glia::emit {

namespace {

constexpr int kWhole = -1;

// The first dimension with more than one element; the halves of a tensor cut there lie one behind the other.
int firstDim(mlir::Value v) {
  const std::vector<int64_t> shape = shapeOf(v);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] > 1)
      return shape[d] % 2 == 0 ? static_cast<int>(d) : kWhole;
  return kWhole;
}

// Which dimension of each operand is cut when dimension `d` of the result is; nullopt: the operation cannot be cut there.
using Cuts = std::optional<std::vector<int>>;

Cuts cutDot(graph::DotGeneralOp op, int64_t d) {
  const auto n = op.getDotDimensionNumbers();
  const llvm::ArrayRef<int64_t> lb = n.getLhsBatchingDimensions(), rb = n.getRhsBatchingDimensions(),
                                lc = n.getLhsContractingDimensions(), rc = n.getRhsContractingDimensions();
  const auto batches = static_cast<int64_t>(lb.size());
  if (d < batches)
    return std::vector<int>{static_cast<int>(lb[static_cast<size_t>(d)]), static_cast<int>(rb[static_cast<size_t>(d)])};
  const std::vector<int64_t> left = freeDims(shapeOf(op->getOperand(0)).size(), lb, lc),
                             right = freeDims(shapeOf(op->getOperand(1)).size(), rb, rc);
  const auto at = static_cast<size_t>(d - batches);
  if (at < left.size())
    return std::vector<int>{static_cast<int>(left[at]), kWhole};
  return std::vector<int>{kWhole, static_cast<int>(right[at - left.size()])};
}

Cuts cutConvolution(graph::ConvolutionOp op, int64_t d) {
  const auto n = op.getDimensionNumbers();
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1)
    return std::nullopt;
  if (d == n.getOutputBatchDimension())
    return std::vector<int>{static_cast<int>(n.getInputBatchDimension()), kWhole};
  if (d == n.getOutputFeatureDimension())
    return std::vector<int>{kWhole, static_cast<int>(n.getKernelOutputFeatureDimension())};
  return std::nullopt; // neighbours in space read the same elements
}

Cuts cutOperation(mlir::Operation *op, int d) {
  const llvm::StringRef name = opName(op);
  const std::vector<int64_t> shape = shapeOf(op->getResult(0));
  std::vector<int> out;
  if (isPointwise(name)) {
    for (mlir::Value v : op->getOperands())
      out.push_back(shapeOf(v) == shape ? d : kWhole);
    return out;
  }
  if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    out.push_back(kWhole);
    const llvm::ArrayRef<int64_t> dims = broadcast.getBroadcastDimensions();
    const std::vector<int64_t> from = shapeOf(op->getOperand(0));
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] == d && from[i] > 1)
        out[0] = static_cast<int>(i);
    return out;
  }
  if (auto slice = llvm::dyn_cast<graph::SliceOp>(op))
    return shapeOf(op->getOperand(0))[static_cast<size_t>(d)] == shape[static_cast<size_t>(d)] ? Cuts(std::vector<int>{d})
                                                                                               : std::nullopt;
  if (auto concatenate = llvm::dyn_cast<graph::ConcatenateOp>(op))
    return static_cast<int64_t>(concatenate.getDimension()) != d ? Cuts(std::vector<int>(op->getNumOperands(), d))
                                                                 : std::nullopt;
  if (name == "reshape") { // the first half of the bytes stays the first half
    const int first = firstDim(op->getOperand(0));
    if (first == kWhole || d != firstDim(op->getResult(0)))
      return std::nullopt;
    return std::vector<int>{first};
  }
  if (auto reduce = llvm::dyn_cast<graph::ReduceOp>(op); reduce && op->getNumOperands() == 2) {
    int64_t at = d; // of the operand: reduced dimensions stand between
    for (int64_t i = 0; i <= at; ++i)
      at += llvm::is_contained(reduce.getDimensions(), i);
    return std::vector<int>{static_cast<int>(at), kWhole};
  }
  if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
    return cutDot(dot, d);
  if (auto convolution = llvm::dyn_cast<graph::ConvolutionOp>(op))
    return cutConvolution(convolution, d);
  return std::nullopt;
}

class Halving {
public:
  explicit Halving(const Group &g) : g(g) {}

  std::optional<HalfGroup> run() {
    if (g.family == &movementFamily())
      return std::nullopt; // it writes whole tensors
    for (mlir::Value v : g.outputs)
      if (firstDim(v) == kWhole || !want(v, firstDim(v)))
        return std::nullopt;
    for (mlir::Operation *op : llvm::reverse(g.ops))
      if (op->getNumResults() != 1 || !visit(op))
        return std::nullopt;
    for (mlir::Value v : g.inputs)
      if (const int d = cutOf(v); d != kWhole && d != firstDim(v))
        return std::nullopt;
    HalfGroup half = build();
    // Of so few rows there may be no way that there is of all.
    if (g.family == &rowsFamily() && !planRows(half.group.ops) && !planSlabs(half.group.ops))
      return std::nullopt;
    return half;
  }

private:
  const Group &g;
  llvm::DenseMap<mlir::Value, int> cuts;

  int cutOf(mlir::Value v) const {
    const auto it = cuts.find(v);
    return it == cuts.end() ? kWhole : it->second;
  }

  bool want(mlir::Value v, int d) {
    if (d != kWhole && shapeOf(v)[static_cast<size_t>(d)] % 2 != 0)
      return false;
    const auto [it, fresh] = cuts.try_emplace(v, d);
    return fresh || it->second == d;
  }

  bool visit(mlir::Operation *op) {
    const auto it = cuts.find(op->getResult(0));
    if (it == cuts.end())
      return false; // nobody reads it
    const Cuts operands =
        it->second == kWhole ? std::vector<int>(op->getNumOperands(), kWhole) : cutOperation(op, it->second);
    if (!operands)
      return false;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (!splatOf(op->getOperand(i)) && !want(op->getOperand(i), (*operands)[i]))
        return false;
    return true;
  }

  static mlir::RankedTensorType halved(mlir::Value v, int d) {
    std::vector<int64_t> shape = shapeOf(v);
    if (d != kWhole)
      shape[static_cast<size_t>(d)] /= 2;
    return mlir::RankedTensorType::get(shape, elementOf(v));
  }

  HalfGroup build() {
    const mlir::Location loc = g.ops.back()->getLoc();
    HalfGroup out;
    out.module = mlir::ModuleOp::create(loc);
    mlir::OpBuilder b(out.module->getContext());
    b.setInsertionPointToEnd(out.module->getBody());
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value v : g.inputs) {
      out.inputDims.push_back(cutOf(v));
      types.push_back(halved(v, out.inputDims.back()));
    }
    auto main = mlir::func::FuncOp::create(b, loc, "main", b.getFunctionType(types, {}));
    mlir::Block *body = main.addEntryBlock();
    b.setInsertionPointToEnd(body);
    mlir::func::ReturnOp end = mlir::func::ReturnOp::create(b, loc);
    b.setInsertionPoint(end);
    mlir::IRMapping map;
    map.map(g.inputs, body->getArguments());
    for (mlir::Operation *op : g.ops) {
      const int d = cuts.lookup(op->getResult(0));
      const Cuts operands = d == kWhole ? std::vector<int>(op->getNumOperands(), kWhole) : cutOperation(op, d);
      for (unsigned i = 0; i < op->getNumOperands(); ++i)
        if (const mlir::Value v = op->getOperand(i); !map.contains(v) || splatOf(v)) { // a number, as often as it is needed
          GraphBuilder numbers(end);
          map.map(v, numbers.number(*splatOf(v), halved(v, (*operands)[i])));
        }
      mlir::Operation *copy = b.clone(*op, map);
      copy->getResult(0).setType(halved(op->getResult(0), d));
      if (auto slice = llvm::dyn_cast<graph::SliceOp>(copy); slice && d != kWhole) {
        std::vector<int64_t> limits(slice.getLimitIndices());
        limits[static_cast<size_t>(d)] = shapeOf(slice->getResult(0))[static_cast<size_t>(d)];
        slice.setLimitIndices(limits);
      }
      out.group.ops.push_back(copy);
    }
    out.group.family = g.family;
    out.group.inputs.assign(body->args_begin(), body->args_end());
    for (mlir::Value v : g.outputs) {
      out.outputDims.push_back(cuts.lookup(v));
      out.group.outputs.push_back(map.lookup(v));
    }
    return out;
  }
};

} // namespace

std::optional<HalfGroup> halveGroup(const Group &g) { return Halving(g).run(); }

} // namespace glia::emit
