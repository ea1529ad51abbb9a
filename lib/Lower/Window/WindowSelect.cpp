// Tap after tap, in the order of the window: which tap holds the chosen element of each window so far; then, tap after tap
// again, the source goes to where that tap points. The result is made in boxes; a window that reaches into several boxes is
// looked at in each.
#include "WindowSelect.h"
#include "Lower/Rows/Combine.h"
#include "Lower/Rows/RowsPlan.h"
#include "WindowPlan.h"
#include "WindowSelectRows.h"
#include "WindowSelectTaps.h"

#include <algorithm>

namespace glia::emit {

namespace {

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

struct Layout {
  std::vector<WindowDim> rows, free;
  std::vector<int64_t> box; // elements of the result at a time
};

std::optional<Layout> layoutOf(mlir::Operation *op, const Combiner &c) {
  const int64_t t = sizeOf(c.type), u = sizeOf(sumType(c));
  // Rows are found as for reductions; the box is one of elements of the operand.
  const std::optional<WindowPlan> p =
      planWindows(windowDims(op, op->getOperand(0), op->getOperand(1)), t, 0, 0, /*windowsOnRows=*/false);
  if (!p)
    return std::nullopt;
  Layout l{p->rows, p->free, {}};
  for (const WindowDim &d : l.free)
    l.box.push_back(d.in);
  const auto need = [&] {
    int64_t in = 1, windows = 1, box = 1;
    for (size_t i = 0; i < l.free.size(); ++i) {
      const WindowDim &d = l.free[i];
      const int64_t n = std::min(d.out, (l.box[i] + d.size - 2) / d.stride + 1);
      windows *= n;
      box *= l.box[i];
      in *= std::min(d.in, (n - 1) * d.stride + d.size);
    }
    return in * 2 * t + windows * (3 * t + 2 * u + 10) + box * 2 * (t + u + 4);
  };
  for (size_t i = 0; i < l.box.size() && need() > kRowsBudget;)
    if (l.box[i] > 1)
      l.box[i] = (l.box[i] + 1) / 2;
    else
      ++i;
  return need() > kRowsBudget ? std::nullopt : std::optional(std::move(l));
}

class SelectAndScatter {
public:
  SelectAndScatter(KernelBuilder &k, mlir::Operation *op, const Tile &operand, const Tile &source, const Tile &out)
      : k(k), op(op), operand(operand), source(source), out(out) {
    std::string why;
    c = *combinerOf(op->getRegion(1), elementOf(op->getOperand(0)), why);
    l = *layoutOf(op, c);
  }

  void run() {
    int64_t rows = 1;
    std::vector<int64_t> counts;
    for (const WindowDim &d : l.rows)
      rows *= d.out;
    for (const WindowDim &d : l.free)
      counts.push_back(d.in);
    for (row = 0; row < rows; row += 128) {
      nr = std::min<int64_t>(128, rows - row);
      forEachBox(counts, l.box, [&](const std::vector<int64_t> &f, const std::vector<int64_t> &n) { visit(f, n); });
    }
  }

private:
  KernelBuilder &k;
  mlir::Operation *op;
  Tile operand, source, out;
  Combiner c;
  Layout l;
  int64_t row = 0, nr = 0;

  // Part of a tensor with one row per partition.
  Tile fetch(const Tile &from, mlir::Value v, const std::vector<int64_t> &first, const std::vector<int64_t> &shape,
             bool windows) {
    const Tile x = k.sbuf(c.type, nr, shape), flat = x.reshaped({x.elements()});
    if (from.handle < 0) {
      k.fill(flat, *splatOf(v));
      return x;
    }
    Dims rows, cols;
    Tile part = from;
    place(part, first, shape, windows, rows, cols);
    load(k, flat, part, rows, cols, row, 0);
    return x;
  }
  void place(Tile &part, const std::vector<int64_t> &first, const std::vector<int64_t> &shape, bool windows, Dims &rows,
             Dims &cols) const {
    for (const WindowDim &d : l.rows)
      rows.push_back({windows ? d.outStride : d.inStride, d.out});
    for (size_t i = 0; i < l.free.size(); ++i) {
      const int64_t stride = windows ? l.free[i].outStride : l.free[i].inStride;
      cols.push_back({stride, shape[i]});
      part.offset += first[i] * stride;
    }
    rows = merged(rows);
    cols = merged(cols);
  }

  void visit(const std::vector<int64_t> &from, const std::vector<int64_t> &count) {
    std::vector<int64_t> firstWindow, windows, firstIn, in;
    bool any = true;
    for (size_t i = 0; i < l.free.size(); ++i) {
      const auto [w0, w1] = windowsAt(l.free[i], from[i], from[i] + count[i]);
      any &= w1 > w0;
      firstWindow.push_back(w0);
      windows.push_back(w1 - w0);
      const auto [a, b] = any ? l.free[i].inputs(w0, w1) : std::pair<int64_t, int64_t>(0, 0);
      any &= b > a;
      firstIn.push_back(a);
      in.push_back(b - a);
    }
    const Tile sum = k.sbuf(sumType(c), nr, count);
    k.fill(sum, *splatOf(op->getOperand(2)));
    if (any) {
      const Tile x = fetch(operand, op->getOperand(0), firstIn, in, false);
      const Tile given = widened(k, c, fetch(source, op->getOperand(1), firstWindow, windows, true));
      SelectTaps taps(k, op, l.free);
      const Tile which = taps.begin(nr, windows);
      taps.choose(x, firstIn, firstWindow, windows, 0, {});
      taps.send(sum, given, which, from, count, firstWindow, windows, 0);
    }
    Dims rows, cols;
    Tile to = out;
    place(to, from, count, false, rows, cols);
    const Tile result = inType(k, sum, c.type);
    store(k, to, result.reshaped({result.elements()}), rows, cols, row, 0);
  }
};

} // namespace

std::string refuseSelectAndScatter(mlir::Operation *op) {
  std::string why;
  const std::optional<Combiner> c = combinerOf(op->getRegion(1), elementOf(op->getOperand(0)), why);
  if (!c || keepingComparison(op, why).empty())
    return why;
  if (!splatOf(op->getOperand(2)))
    return "a start that is a computed value";
  double all = 1;
  for (const WindowDim &d : windowDims(op, op->getOperand(0), op->getOperand(1)))
    all *= static_cast<double>(d.size);
  if (all > 4096)
    return "windows of more than 4096 elements";
  return layoutOf(op, *c) || rowLayoutOf(op, *c)
             ? ""
             : "a window that does not fit on chip, or more than four dimensions of windows";
}

void emitSelectAndScatter(KernelBuilder &k, mlir::Operation *op, const Tile &operand, const Tile &source, const Tile &out) {
  if (elementsOf(op->getResult(0)) == 0)
    return;
  std::string why;
  const Combiner c = *combinerOf(op->getRegion(1), elementOf(op->getOperand(0)), why);
  const std::optional<Layout> l = layoutOf(op, c);
  int64_t rows = 1;
  for (const WindowDim &d : l ? l->rows : std::vector<WindowDim>())
    rows *= d.out;
  if (const std::optional<SelectRowLayout> onRows = rowLayoutOf(op, c);
      onRows && (!l || (rows < 32 && rows < onRows->rows())))
    return selectOnRows(k, op, *onRows, operand, source, out);
  SelectAndScatter(k, op, operand, source, out).run();
}

} // namespace glia::emit
