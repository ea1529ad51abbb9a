// Two passes. First rows are rows of windows: row after row of each window is loaded, the chosen taps go to a tensor in HBM.
// Then rows are rows of the result, those of one phase of the stride at a time: each row of a window reaches them from one
// row of windows.
#include "WindowSelectRows.h"
#include "Lower/Rows/RowsPlan.h"
#include "WindowPlan.h"
#include "WindowSelectTaps.h"

#include <algorithm>

namespace glia::emit {

int64_t SelectRowLayout::rows() const {
  int64_t n = over.out;
  for (const WindowDim &d : plain)
    n *= d.out;
  return n;
}

std::optional<SelectRowLayout> rowLayoutOf(mlir::Operation *op, const Combiner &c) {
  const std::vector<WindowDim> dims = windowDims(op, op->getOperand(0), op->getOperand(1));
  SelectRowLayout l;
  size_t at = 0;
  while (at < dims.size() && dims[at].isPlain())
    l.plain.push_back(dims[at++]);
  if (at + 1 >= dims.size() || dims.size() - at - 1 > 4)
    return std::nullopt;
  l.over = dims[at];
  l.free.assign(dims.begin() + static_cast<long>(at) + 1, dims.end());
  const int64_t t = sizeOf(c.type), u = sizeOf(sumType(c));
  for (const WindowDim &d : l.free) {
    l.windowBox.push_back(d.out);
    l.box.push_back(d.in);
  }
  const auto fit = [&](std::vector<int64_t> &box, auto need) {
    for (size_t i = 0; i < box.size() && need() > kRowsBudget;)
      if (box[i] > 1)
        box[i] = (box[i] + 1) / 2;
      else
        ++i;
    return need() <= kRowsBudget;
  };
  const bool chooses = fit(l.windowBox, [&] {
    int64_t in = 1, windows = 1;
    for (size_t i = 0; i < l.free.size(); ++i) {
      in *= l.free[i].mostInputs(l.windowBox[i]);
      windows *= l.windowBox[i];
    }
    return in * 2 * t + windows * (2 * t + 12);
  });
  const bool sends = fit(l.box, [&] {
    int64_t windows = 1, box = 1;
    for (size_t i = 0; i < l.free.size(); ++i) {
      windows *= std::min(l.free[i].out, (l.box[i] + l.free[i].size - 2) / l.free[i].stride + 1);
      box *= l.box[i];
    }
    return windows * (2 * t + 3 * u + 6) + box * 2 * (t + u);
  });
  return chooses && sends ? std::optional(std::move(l)) : std::nullopt;
}

namespace {

using Counts = std::vector<int64_t>;

class SelectOnRows {
public:
  SelectOnRows(KernelBuilder &k, mlir::Operation *op, const SelectRowLayout &l, const Tile &operand, const Tile &source,
               const Tile &out)
      : k(k), op(op), l(l), operand(operand), source(source), out(out) {
    std::string why;
    c = *combinerOf(op->getRegion(1), llvm::cast<mlir::RankedTensorType>(op->getOperand(0).getType()).getElementType(), why);
  }

  void run() {
    const SelectTaps taps(k, op, l.free, l.over.size);
    chosen = k.scratch(taps.type(), {elementsOf(op->getOperand(1))});
    Counts windows, elements;
    for (const WindowDim &d : l.free) {
      windows.push_back(d.out);
      elements.push_back(d.in);
    }
    const int64_t images = l.rows() / l.over.out;
    for (int64_t row = 0; row < l.rows(); row += 128)
      forEachBox(windows, l.windowBox, [&](const Counts &from, const Counts &count) {
        choose(row, std::min<int64_t>(128, l.rows() - row), from, count);
      });
    for (int64_t phase = 0; phase < std::min(l.over.stride, l.over.in); ++phase) {
      const int64_t per = (l.over.in - phase + l.over.stride - 1) / l.over.stride, rows = images * per;
      for (int64_t row = 0; row < rows; row += 128)
        forEachBox(elements, l.box, [&](const Counts &from, const Counts &count) {
          send(phase, per, row, std::min<int64_t>(128, rows - row), from, count);
        });
    }
  }

private:
  KernelBuilder &k;
  mlir::Operation *op;
  const SelectRowLayout &l;
  Tile operand, source, out, chosen;
  Combiner c;

  // Where an image starts.
  int64_t image(int64_t number, int64_t WindowDim::*stride) const {
    int64_t at = 0;
    for (size_t i = l.plain.size(); i-- > 0; number /= l.plain[i].out)
      at += number % l.plain[i].out * (l.plain[i].*stride);
    return at;
  }
  Dims view(const Counts &from, const Counts &count, int64_t WindowDim::*stride, int64_t &offset) const {
    Dims cols;
    for (size_t i = 0; i < l.free.size(); ++i) {
      cols.push_back({l.free[i].*stride, count[i]});
      offset += from[i] * (l.free[i].*stride);
    }
    return cols;
  }
  void fetch(const Tile &x, const Tile &from, mlir::Value v, const std::vector<RowRun> &runs, const Dims &cols) {
    const Tile flat = x.reshaped({x.elements()});
    if (from.handle < 0)
      k.fill(flat, *splatOf(v));
    else
      loadRuns(k, flat, from, runs, cols);
  }

  void choose(int64_t row, int64_t nr, const Counts &from, const Counts &count) {
    SelectTaps taps(k, op, l.free, l.over.size);
    const Tile which = taps.begin(nr, count);
    Counts first, in;
    for (size_t i = 0; i < l.free.size(); ++i) {
      const auto [a, b] = l.free[i].inputs(from[i], from[i] + count[i]);
      first.push_back(a);
      in.push_back(b - a);
    }
    int64_t inside = 0, windows = 0;
    const bool any = std::all_of(in.begin(), in.end(), [](int64_t n) { return n > 0; });
    const Dims cols = any ? view(first, in, &WindowDim::inStride, inside) : Dims();
    for (int64_t t = 0; any && t < l.over.size; ++t) {
      std::vector<std::byte> outside(static_cast<size_t>(nr), std::byte{1});
      const std::vector<RowRun> runs = rowRuns(nr, [&](int64_t r) -> std::optional<int64_t> {
        const int64_t at = (row + r) % l.over.out * l.over.stride + t - l.over.low;
        if (at < 0 || at >= l.over.in)
          return std::nullopt;
        outside[static_cast<size_t>(r)] = std::byte{0};
        return inside + at * l.over.inStride + image((row + r) / l.over.out, &WindowDim::inStride);
      });
      if (runs.empty())
        continue;
      const Tile x = k.sbuf(c.type, nr, in);
      Tile mask;
      if (std::find(outside.begin(), outside.end(), std::byte{1}) != outside.end()) {
        k.fill(x.reshaped({x.elements()}), 0);
        mask = k.sbuf(DType::U8, nr, {1});
        k.copy(mask, k.constant("outside" + std::to_string(masks++), DType::U8, {nr}, outside));
      }
      fetch(x, operand, op->getOperand(0), runs, cols);
      taps.choose(x, first, from, count, t * taps.taps(), mask);
    }
    const Dims to = view(from, count, &WindowDim::outStride, windows);
    storeRuns(which, chosen,
              rowRuns(nr,
                      [&](int64_t r) -> std::optional<int64_t> {
                        return windows + (row + r) % l.over.out * l.over.outStride +
                               image((row + r) / l.over.out, &WindowDim::outStride);
                      }),
              to);
  }

  void storeRuns(const Tile &x, const Tile &hbm, const std::vector<RowRun> &runs, const Dims &cols) {
    const Tile flat = x.reshaped({x.elements()});
    for (const RowRun &r : runs) {
      Tile to = hbm;
      to.offset += r.at;
      store(k, to, flat.rows(r.from, r.count), {{r.step, r.count}}, merged(cols), 0, 0);
    }
  }

  // Rows phase, phase + stride ... of the result: row t of a window reaches them from windows that are all equally far away.
  void send(int64_t phase, int64_t per, int64_t row, int64_t nr, const Counts &from, const Counts &count) {
    SelectTaps taps(k, op, l.free, l.over.size);
    Counts first, windows;
    for (size_t i = 0; i < l.free.size(); ++i) {
      const auto [a, b] = windowsAt(l.free[i], from[i], from[i] + count[i]);
      first.push_back(a);
      windows.push_back(b - a);
    }
    const Tile sum = k.sbuf(sumType(c), nr, count);
    k.fill(sum, *splatOf(op->getOperand(2)));
    int64_t inside = 0, elements = 0;
    const bool any = std::all_of(windows.begin(), windows.end(), [](int64_t n) { return n > 0; });
    const Dims cols = any ? view(first, windows, &WindowDim::outStride, inside) : Dims();
    for (int64_t t = 0; any && t < l.over.size; ++t) {
      if ((phase + l.over.low - t) % l.over.stride != 0)
        continue;
      const int64_t shift = (phase + l.over.low - t) / l.over.stride;
      bool all = true;
      const std::vector<RowRun> runs = rowRuns(nr, [&](int64_t r) -> std::optional<int64_t> {
        const int64_t w = (row + r) % per + shift;
        if (w < 0 || w >= l.over.out) {
          all = false;
          return std::nullopt;
        }
        return inside + w * l.over.outStride + image((row + r) / per, &WindowDim::outStride);
      });
      if (runs.empty())
        continue;
      const Tile which = k.sbuf(taps.type(), nr, windows), given = k.sbuf(c.type, nr, windows);
      if (!all) {
        k.fill(which.reshaped({which.elements()}), static_cast<double>(taps.none()));
        k.fill(given.reshaped({given.elements()}), 0);
      }
      loadRuns(k, which.reshaped({which.elements()}), chosen, runs, cols);
      fetch(given, source, op->getOperand(1), runs, cols);
      taps.send(sum, widened(k, c, given), which, from, count, first, windows, t * taps.taps());
    }
    const Dims to = view(from, count, &WindowDim::inStride, elements);
    storeRuns(inType(k, sum, c.type), out,
              rowRuns(nr,
                      [&](int64_t r) -> std::optional<int64_t> {
                        return elements + ((row + r) % per * l.over.stride + phase) * l.over.inStride +
                               image((row + r) / per, &WindowDim::inStride);
                      }),
              to);
  }

  int masks = 0;
};

} // namespace

void selectOnRows(KernelBuilder &k, mlir::Operation *op, const SelectRowLayout &l, const Tile &operand, const Tile &source,
                  const Tile &out) {
  SelectOnRows(k, op, l, operand, source, out).run();
}

} // namespace glia::emit
