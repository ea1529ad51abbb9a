#include "DecomposeWindows.h"
#include "Graph/Analysis/BodyLaws.h"
#include "Graph/Analysis/PlainBody.h"
#include "Lower/Rows/Combine.h"
#include "Lower/Window/WindowPlan.h"

namespace glia::emit {

namespace {

constexpr int64_t kMostTaps = 128, kFewTaps = 4; // each is a few operations

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

// A window that grows from one end of a dimension: which dimension, and from where.
struct Growing {
  int64_t dim;
  bool fromEnd;
};
std::optional<Growing> growing(graph::ReduceWindowOp op) {
  const llvm::ArrayRef<int64_t> shape = typeOf(op->getOperand(0)).getShape();
  const Numbers w = numbersOf(op);
  const auto isOne = [](int64_t n) { return n == 1; };
  if (shape != typeOf(op->getResult(0)).getShape() || !llvm::all_of(w.stride, isOne) || !llvm::all_of(w.base, isOne) ||
      !llvm::all_of(w.dilation, isOne))
    return std::nullopt;
  std::optional<Growing> out;
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t size = w.size[d], low = w.low[d], high = w.high[d];
    if (size == 1 && low == 0 && high == 0)
      continue;
    if (out || size < shape[d] || low + high != size - 1 || (low != 0 && high != 0))
      return std::nullopt;
    out = Growing{static_cast<int64_t>(d), low == 0};
  }
  return out;
}

// The start is met in the padding too, and between the elements of a dilated base.
bool reachesPadding(graph::ReduceWindowOp op) {
  const Numbers w = numbersOf(op);
  return llvm::any_of(w.low, [](int64_t n) { return n > 0; }) || llvm::any_of(w.high, [](int64_t n) { return n > 0; }) ||
         llvm::any_of(w.base, [](int64_t n) { return n > 1; });
}

// The specification has the start in every place of the padding, XLA has nothing there: it is done only where that is the same.
bool skipsPadding(graph::ReduceWindowOp op) {
  return !reachesPadding(op) || repeats(op->getRegion(0).front(), op->getOperands().drop_front(op->getNumResults()));
}

void startApart(graph::ReduceWindowOp op, const Combiner &c) {
  const mlir::Value start = op->getOperand(1);
  mlir::Value result = op->getResult(0);
  GraphBuilder g(op);
  op->setOperand(1, g.number(neutralOf(c.op, c.type, c.logical), start));
  g.b.setInsertionPointAfter(op);
  const mlir::Value whole = g.broadcast(start, {}, typeOf(result));
  const mlir::Value combined = g.binary(opName(&op->getRegion(0).front().front()), whole, result);
  result.replaceAllUsesExcept(combined, combined.getDefiningOp());
}

} // namespace

bool writeOut(graph::ReduceWindowOp op) {
  const unsigned n = op->getNumResults();
  mlir::Block &body = op->getRegion(0).front();
  const Numbers w = numbersOf(op);
  int64_t taps = 1;
  for (int64_t s : w.size)
    taps *= s;
  if (taps > kMostTaps || !isPlainBody(body) || !skipsPadding(op))
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
      arguments.push_back(g.slice(p, from, to, w.stride));
    so = applied(g, body, arguments);
  });
  op->replaceAllUsesWith(so);
  op->erase();
  return true;
}

// After each step, an element stands for twice as many.
bool writeGrowing(graph::ReduceWindowOp op) {
  mlir::Block &body = op->getRegion(0).front();
  const std::optional<Growing> w = growing(op);
  if (!w || !isPlainBody(body))
    return false;
  GraphBuilder g(op);
  const unsigned n = op->getNumResults();
  const llvm::ArrayRef<int64_t> shape = typeOf(op->getOperand(0)).getShape();
  const auto dim = static_cast<size_t>(w->dim);
  llvm::SmallVector<mlir::Value> x(op->getOperands().take_front(n));
  for (int64_t by = 1; by < shape[dim]; by *= 2) {
    std::vector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
    (w->fromEnd ? low : high)[dim] = -by;
    (w->fromEnd ? high : low)[dim] = by;
    llvm::SmallVector<mlir::Value> further;
    for (unsigned i = 0; i < n; ++i)
      further.push_back(g.pad(x[i], op->getOperand(n + i), low, high));
    llvm::SmallVector<mlir::Value> arguments = w->fromEnd ? x : further; // what comes first stands first
    llvm::append_range(arguments, w->fromEnd ? further : x);
    x = applied(g, body, arguments);
  }
  op->replaceAllUsesWith(x);
  op->erase();
  return true;
}

void decomposeWindows(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op)) {
      mlir::Block &body = op->getRegion(0).front();
      const unsigned n = op->getNumResults();
      std::string why;
      const std::string_view combination = n == 1 ? combinationOf(body, elementOf(op->getResult(0)).isInteger(1), why) : "";
      if (!combination.empty() && combination != "bypass") // one that combines is the family's own
        continue;
      const std::optional<Growing> w = growing(window);
      if (!w || typeOf(op->getOperand(0)).getDimSize(static_cast<unsigned>(w->dim)) <= kFewTaps ||
          !isNeutral(body, op->getOperands().drop_front(n)) || !writeGrowing(window))
        writeOut(window);
    }
}

void startWindowsApart(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op);
        window && op->getNumResults() == 1 && !splatOf(op->getOperand(1))) {
      std::string why; // told where it is lowered
      const std::optional<Combiner> c = combinerOf(op->getRegion(0), elementOf(op->getOperand(0)), why);
      if (c && c->op != "bypass" && (c->repeats() || !reachesPadding(window)))
        startApart(window, *c);
    }
}

} // namespace glia::emit
