#include "DecomposeWindows.h"
#include "Graph/Analysis/PlainBody.h"
#include "Lower/Window/WindowPlan.h"

namespace glia::emit {

namespace {

constexpr int64_t kMostTaps = 128; // each is a few operations

struct Numbers { // of a window, per dimension
  std::vector<int64_t> size, stride, base, dilation, low, high;
};

Numbers numbersOf(graph::ReduceWindowOp op) {
  const auto rank = static_cast<size_t>(typeOf(op->getOperand(0)).getRank());
  const auto list = [&](std::optional<llvm::ArrayRef<int64_t>> given) {
    return given ? std::vector<int64_t>(given->begin(), given->end()) : std::vector<int64_t>(rank, 1);
  };
  Numbers n{list(op.getWindowDimensions()), list(op.getWindowStrides()),   list(op.getBaseDilations()),
            list(op.getWindowDilations()),  std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  if (const auto padding = op.getPadding()) {
    const std::vector<int64_t> all(padding->getValues<int64_t>().begin(), padding->getValues<int64_t>().end());
    for (size_t d = 0; d < rank; ++d) {
      n.low[d] = all[2 * d];
      n.high[d] = all[2 * d + 1];
    }
  }
  return n;
}

mlir::DenseI64ArrayAttr attribute(GraphBuilder &g, llvm::ArrayRef<int64_t> numbers) {
  return g.b.getDenseI64ArrayAttr(numbers);
}

} // namespace

bool writeOut(graph::ReduceWindowOp op) {
  const unsigned n = op->getNumResults();
  mlir::Block &body = op->getRegion(0).front();
  const Numbers w = numbersOf(op);
  int64_t taps = 1;
  for (int64_t s : w.size)
    taps *= s;
  if (taps > kMostTaps || !isPlainBody(body))
    return false;
  GraphBuilder g(op);
  const llvm::ArrayRef<int64_t> shape = typeOf(op->getResult(0)).getShape();
  // The padding holds the start; a dilated base has it between its elements.
  std::vector<int64_t> between;
  for (int64_t base : w.base)
    between.push_back(base - 1);
  llvm::SmallVector<mlir::Value> padded, so;
  for (unsigned i = 0; i < n; ++i) {
    const mlir::Value x = op->getOperand(i), start = op->getOperand(n + i);
    padded.push_back(g.pad(x, start, w.low, w.high, between));
    so.push_back(g.broadcast(start, {}, mlir::RankedTensorType::get(shape, elementOf(x))));
  }
  forEachIndex(w.size, [&](const std::vector<int64_t> &tap) {
    std::vector<int64_t> from, to;
    for (size_t d = 0; d < tap.size(); ++d) {
      from.push_back(tap[d] * w.dilation[d]);
      to.push_back(from.back() + (shape[d] - 1) * w.stride[d] + 1);
    }
    llvm::SmallVector<mlir::Value> arguments = so;
    for (mlir::Value p : padded)
      arguments.push_back(
          g.make("slice", {p}, mlir::RankedTensorType::get(shape, elementOf(p)),
                 {g.b.getNamedAttr("start_indices", attribute(g, from)), g.b.getNamedAttr("limit_indices", attribute(g, to)),
                  g.b.getNamedAttr("strides", attribute(g, w.stride))}));
    so = applied(g, body, arguments);
  });
  op->replaceAllUsesWith(so);
  op->erase();
  return true;
}

void decomposeWindows(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op))
      if (op->getNumResults() > 1 ||
          op->getRegion(0).front().getOperations().size() > 2) // one operation is the family's own
        writeOut(window);
}

} // namespace glia::emit
