// Tap after tap, in the order of the window: which tap holds the chosen element of each window so far; then, tap after tap again, the source goes to
// where that tap points. The result is made in boxes; a window that reaches into several boxes is looked at in each.
#include "WindowSelect.h"
#include "Combine.h"
#include "RowsPlan.h"
#include "WindowPlan.h"
#include "glia/Graph/Graph.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>
#include <limits>

namespace glia::emit {

namespace {

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

// The comparison that keeps the element chosen before: name of alu_op, empty if there is none.
std::string_view keepsOf(mlir::Region &region, std::string &why) {
  mlir::Block &body = region.front();
  auto compare = llvm::dyn_cast<graph::CompareOp>(body.front());
  const bool plain =
      compare && body.getOperations().size() == 2 && body.getTerminator()->getOperand(0) == compare->getResult(0);
  const std::string_view op = plain ? comparisonOf(compare) : "";
  if (op.empty() || op == "not_equal") {
    why = "a selection that is not one comparison of its two values";
    return {};
  }
  if (compare->getOperand(0) == body.getArgument(0) && compare->getOperand(1) == body.getArgument(1))
    return op;
  if (compare->getOperand(0) != body.getArgument(1) || compare->getOperand(1) != body.getArgument(0)) {
    why = "a selection that does not compare its two values";
    return {};
  }
  constexpr std::pair<std::string_view, std::string_view> kTurned[] = {
      {"greater_equal", "less_equal"}, {"greater", "less"}, {"less_equal", "greater_equal"}, {"less", "greater"}};
  for (const auto &[from, to] : kTurned)
    if (op == from)
      return to;
  return op;
}

struct Layout {
  std::vector<WindowDim> rows, free;
  std::vector<int64_t> box; // elements of the result at a time
};

// The windows [first, last) that reach into elements [from, to).
std::pair<int64_t, int64_t> windowsAt(const WindowDim &d, int64_t from, int64_t to) {
  int64_t first = 0, last = d.out;
  while (first < d.out && first * d.stride + d.size - 1 - d.low < from)
    ++first;
  while (last > first && (last - 1) * d.stride - d.low >= to)
    --last;
  return {first, last};
}

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
    keeps = keepsOf(op->getRegion(0), why);
    l = *layoutOf(op, c);
    wide = isWide(c.type);
    int64_t n = 1;
    for (const WindowDim &d : l.free) {
      taps.push_back(d.size);
      n *= d.size;
    }
    none = n < 255 ? 255 : 65535;
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
  std::string_view keeps;
  Layout l;
  bool wide;
  std::vector<int64_t> taps;
  int64_t none, row = 0, nr = 0;

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
      send(sum, given, choose(x, firstIn, firstWindow, windows), from, count, firstWindow, windows);
    }
    Dims rows, cols;
    Tile to = out;
    place(to, from, count, false, rows, cols);
    const Tile result = inType(k, sum, c.type);
    store(k, to, result.reshaped({result.elements()}), rows, cols, row, 0);
  }

  // The number of the chosen tap of each window.
  Tile choose(const Tile &x, const std::vector<int64_t> &firstIn, const std::vector<int64_t> &firstWindow,
              const std::vector<int64_t> &windows) {
    const Tile best = k.sbuf(c.type, nr, windows), which = k.sbuf(none == 255 ? DType::U8 : DType::U16, nr, windows);
    k.fill(which, static_cast<double>(none));
    k.fill(best, isFloat(c.type) ? std::numeric_limits<double>::quiet_NaN() : 0); // no comparison keeps NaN
    int64_t number = 0;
    forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
      Tile b = best, w = which, from = x;
      const int64_t mine = number++;
      for (size_t i = 0; i < taps.size(); ++i) {
        const TapRun r = l.free[i].run(tap[i], firstWindow[i], firstWindow[i] + windows[i]);
        if (r.count == 0)
          return;
        const int d = static_cast<int>(i);
        b = b.part(d, r.from - firstWindow[i], r.count, r.step);
        w = w.part(d, r.from - firstWindow[i], r.count, r.step);
        from = from.part(d, r.at - firstIn[i], r.count, r.stride);
      }
      const Tile kept = k.sbuf(wide ? c.type : DType::U8, nr, b.shape());
      k.tensor(kept, b, from, keeps);
      const Tile mask = wide ? kept.as(DType::U32) : kept;
      if (!isFloat(c.type)) { // nothing to keep before the first element
        const Tile begun = k.sbuf(DType::U8, nr, b.shape());
        k.scalar(begun, w, "equal", static_cast<double>(none));
        k.select(mask, begun, 0.0f);
      }
      k.select(b, mask, from, true);
      k.select(w, mask, static_cast<double>(mine), true);
    });
    return which;
  }

  void send(const Tile &sum, const Tile &given, const Tile &which, const std::vector<int64_t> &from,
            const std::vector<int64_t> &count, const std::vector<int64_t> &firstWindow,
            const std::vector<int64_t> &windows) {
    int64_t number = 0;
    forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
      Tile to = sum, g = given, w = which;
      const int64_t mine = number++;
      for (size_t i = 0; i < taps.size(); ++i) {
        WindowDim d = l.free[i]; // as if the box were all there is
        d.low += from[i];
        d.in = count[i];
        const TapRun r = d.run(tap[i], firstWindow[i], firstWindow[i] + windows[i]);
        if (r.count == 0)
          return;
        const int dim = static_cast<int>(i);
        to = to.part(dim, r.at, r.count, r.stride);
        g = g.part(dim, r.from - firstWindow[i], r.count, r.step);
        w = w.part(dim, r.from - firstWindow[i], r.count, r.step);
      }
      const Tile mask = k.sbuf(DType::U8, nr, to.shape()), more = k.sbuf(sum.dtype, nr, to.shape());
      k.scalar(mask, w, "equal", static_cast<double>(mine));
      combine(k, c, more, to, g);
      k.select(to, mask, more);
    });
  }
};

} // namespace

std::string refuseSelectAndScatter(mlir::Operation *op) {
  std::string why;
  const std::optional<Combiner> c = combinerOf(op->getRegion(1), elementOf(op->getOperand(0)), why);
  if (!c || keepsOf(op->getRegion(0), why).empty())
    return why;
  if (!splatOf(op->getOperand(2)))
    return "a start that is a computed value";
  double all = 1;
  for (const WindowDim &d : windowDims(op, op->getOperand(0), op->getOperand(1)))
    all *= static_cast<double>(d.size);
  if (all > 4096)
    return "windows of more than 4096 elements";
  return layoutOf(op, *c) ? "" : "a window that does not fit on chip, or more than four dimensions of windows";
}

void emitSelectAndScatter(KernelBuilder &k, mlir::Operation *op, const Tile &operand, const Tile &source, const Tile &out) {
  if (elementsOf(op->getResult(0)) > 0)
    SelectAndScatter(k, op, operand, source, out).run();
}

} // namespace glia::emit
