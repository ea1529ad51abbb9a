// Three steps per tile: windows over rows (one load per tap, added up whole), then windows along the partition, one
// dimension after the other or all at once, whichever takes fewer elements; then the start and the type. A tap works on the
// outputs whose element it finds inside the input, so the padding costs nothing: what it holds changes nothing, or nothing
// more than the start does.
#include "WindowReduce.h"
#include "Graph/Analysis/BodyLaws.h"
#include "Lower/Rows/Combine.h"
#include "WindowPlan.h"
#include "WindowScan.h"

#include <algorithm>

namespace glia::emit {

namespace {

mlir::Type elementOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType(); }

struct Sum {
  Combiner c;
  DType type; // what partial results are held in
  double start = 0;
  bool neutral = true;
};

std::optional<Sum> sumOf(mlir::Operation *op, std::string &why) {
  if (op->getNumOperands() != 2) {
    why = "windows over several tensors together";
    return std::nullopt;
  }
  const std::optional<Combiner> c = combinerOf(op->getRegion(0), elementOf(op->getOperand(0)), why);
  if (!c)
    return std::nullopt;
  const std::optional<double> start = splatOf(op->getOperand(1));
  if (!start || c->op == "bypass" || elementOf(op->getOperand(0)) != elementOf(op->getResult(0))) {
    why =
        !start ? "windows that start from a computed value" : "windows that are not a reduction in the type of the operand";
    return std::nullopt;
  }
  return Sum{*c, sumType(*c), *start, isNeutral(c->op, *start, c->type, c->logical)};
}

std::optional<WindowPlan> planOf(const std::vector<WindowDim> &dims, const Sum &s) {
  const int64_t t = sizeOf(s.c.type), u = sizeOf(s.type);
  return planWindows(dims, t, 2 * t + 3 * u, 2 * t + 2 * u + (s.type == s.c.type ? 0 : 4), true);
}

class Windows {
public:
  Windows(KernelBuilder &k, const Sum &s, WindowPlan plan, const Tile &in, std::optional<double> splat, const Tile &out)
      : k(k), s(s), p(std::move(plan)), in(in), splat(splat), out(out) {}

  void run() {
    const int64_t rows = p.rowCount();
    std::vector<int64_t> counts;
    for (const WindowDim &d : p.free)
      counts.push_back(d.out);
    for (row = 0; row < rows; row += 128) {
      nr = std::min<int64_t>(128, rows - row);
      forEachBox(counts, p.box, [&](const std::vector<int64_t> &f, const std::vector<int64_t> &n) {
        from = f;
        count = n;
        store(finished(alongPartitions(acrossRows())));
      });
    }
  }

private:
  KernelBuilder &k;
  const Sum &s;
  WindowPlan p;
  Tile in;
  std::optional<double> splat;
  Tile out;
  int64_t row = 0, nr = 0;
  std::vector<int64_t> from, count; // the outputs of this box
  std::vector<int64_t> first;       // the first input of each free dimension that is on chip

  double neutral() const { return neutralOf(s.c.op, s.c.type, s.c.logical); }

  // The inputs that the box needs, all windows over rows done. No handle: there are none.
  Tile acrossRows() {
    std::vector<int64_t> shape;
    Dims cols;
    int64_t offset = 0;
    first.clear();
    for (size_t i = 0; i < p.free.size(); ++i) {
      const auto [a, b] = p.free[i].inputs(from[i], from[i] + count[i]);
      if (b <= a)
        return {};
      first.push_back(a);
      shape.push_back(b - a);
      cols.push_back({p.free[i].inStride, b - a});
      offset += a * p.free[i].inStride;
    }
    std::vector<int64_t> taps;
    for (const WindowDim &d : p.rows)
      taps.push_back(d.size);
    Tile sum;
    bool alone = true; // sum is a tile just loaded
    forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
      Tile x = loadRows(tap, shape, cols, offset);
      if (x.handle < 0)
        return;
      x = widened(k, s.c, x);
      if (sum.handle < 0) {
        sum = x;
        return;
      }
      const Tile to = alone ? k.sbuf(s.type, nr, shape) : sum;
      combine(k, s.c, to, sum, x);
      sum = to;
      alone = false;
    });
    return sum;
  }

  // One row per partition, those outside the input filled; no handle if all are.
  Tile loadRows(const std::vector<int64_t> &tap, const std::vector<int64_t> &shape, const Dims &cols, int64_t offset) {
    Tile x = k.sbuf(s.c.type, nr, shape);
    const Tile flat = x.reshaped({x.elements()});
    if (splat) {
      k.fill(flat, *splat);
      return x;
    }
    bool all = true;
    Dims rows;
    Tile source = in;
    source.offset += offset;
    for (size_t i = 0; i < p.rows.size(); ++i) {
      const WindowDim &d = p.rows[i];
      all &= d.reachesAll(tap[i]);
      rows.push_back({d.inStride * d.stride, d.out});
      source.offset += (tap[i] * d.dilation - d.low) * d.inStride;
    }
    if (all) {
      load(k, flat, source, merged(rows), merged(cols), row, 0);
      return x;
    }
    const std::vector<RowRun> runs = rowRuns(nr, [&](int64_t r) -> std::optional<int64_t> {
      int64_t left = row + r, at = offset;
      for (size_t i = p.rows.size(); i-- > 0;) {
        const WindowDim &d = p.rows[i];
        const int64_t place = left % d.out * d.stride + tap[i] * d.dilation - d.low;
        left /= d.out;
        if (place < 0 || place >= d.in)
          return std::nullopt;
        at += place * d.inStride;
      }
      return at;
    });
    if (runs.empty())
      return {};
    k.fill(flat, neutral());
    loadRuns(k, flat, in, runs, cols);
    return x;
  }

  // Windows along the partition. The order of dimensions, or all of them at once.
  Tile alongPartitions(Tile x) {
    std::vector<size_t> windows;
    for (size_t i = 0; i < p.free.size(); ++i)
      if (!p.free[i].isPlain())
        windows.push_back(i);
    if (x.handle < 0) {
      const Tile sum = k.sbuf(s.type, nr, count);
      k.fill(sum, neutral());
      return sum;
    }
    if (windows.empty())
      return x;
    std::vector<size_t> order = windows, best;
    double least = costOf(x.shape(), {windows});
    do {
      std::vector<std::vector<size_t>> passes;
      for (size_t i : order)
        passes.push_back({i});
      if (const double cost = costOf(x.shape(), passes); cost < least) {
        least = cost;
        best = order;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    if (best.empty())
      return pass(x, windows);
    for (size_t i : best)
      x = pass(x, {i});
    return x;
  }

  double costOf(std::vector<int64_t> shape, const std::vector<std::vector<size_t>> &passes) const {
    constexpr double kPerInstruction = 64; // elements' worth
    double cost = 0;
    for (const std::vector<size_t> &dims : passes) {
      double taps = 1, elements = 1;
      for (size_t i : dims) {
        taps *= static_cast<double>(p.free[i].size);
        shape[i] = count[i];
      }
      for (int64_t n : shape)
        elements *= static_cast<double>(n);
      cost += taps * (elements + kPerInstruction);
    }
    return cost;
  }

  // Reduces the windows of some dimensions: of these the result has outputs.
  Tile pass(const Tile &x, const std::vector<size_t> &dims) {
    std::vector<int64_t> shape = x.shape(), taps;
    for (size_t i : dims) {
      shape[i] = count[i];
      taps.push_back(p.free[i].size);
    }
    const Tile sum = k.sbuf(s.type, nr, shape);
    struct Part {
      Tile to, from;
      bool whole;
    };
    std::vector<Part> parts, others; // those that reach every output first
    forEachIndex(taps, [&](const std::vector<int64_t> &tap) {
      Part part{sum, x, true};
      for (size_t j = 0; j < dims.size(); ++j) {
        const size_t i = dims[j];
        const TapRun r = p.free[i].run(tap[j], from[i], from[i] + count[i]);
        if (r.count == 0)
          return;
        part.whole &= r.count == count[i];
        part.to = part.to.part(static_cast<int>(i), r.from - from[i], r.count, r.step);
        part.from = part.from.part(static_cast<int>(i), r.at - first[i], r.count, r.stride);
      }
      (part.whole ? parts : others).push_back(std::move(part));
    });
    parts.insert(parts.end(), others.begin(), others.end());
    size_t next = 0;
    if (parts.size() >= 2 && parts[1].whole) {
      combine(k, s.c, sum, parts[0].from, parts[1].from);
      next = 2;
    } else if (!parts.empty() && parts[0].whole) {
      k.move(sum, parts[0].from);
      next = 1;
    } else {
      k.fill(sum, neutral());
    }
    for (; next < parts.size(); ++next)
      combine(k, s.c, parts[next].to, parts[next].to, parts[next].from);
    for (size_t i : dims)
      first[i] = from[i];
    return sum;
  }

  // With the start, in the type of the result.
  Tile finished(Tile x) {
    x = x.reshaped({x.elements()});
    if (!s.neutral) {
      const Tile start = k.sbuf(s.type, nr, {1}), y = k.sbuf(s.type, nr, {x.elements()});
      k.fill(start, s.start);
      combine(k, s.c, y, x, start.broadcast(0, x.elements()));
      x = y;
    }
    return inType(k, x, s.c.type);
  }

  void store(const Tile &x) {
    Dims rows, cols;
    Tile to = out;
    for (const WindowDim &d : p.rows)
      rows.push_back({d.outStride, d.out});
    for (size_t i = 0; i < p.free.size(); ++i) {
      cols.push_back({p.free[i].outStride, count[i]});
      to.offset += from[i] * p.free[i].outStride;
    }
    emit::store(k, to, x, merged(rows), merged(cols), row, 0);
  }
};

} // namespace

std::string refuseWindowReduction(mlir::Operation *op) {
  std::string why;
  const std::optional<Sum> s = sumOf(op, why);
  const std::vector<WindowDim> dims = windowDims(op, op->getOperand(0), op->getResult(0));
  mlir::Block &body = op->getRegion(0).front();
  const std::string_view how = op->getNumResults() == 1 ? combinationOf(body, false, why) : "";
  const bool combines = !how.empty() && how != "bypass";
  if (!s && !combines && llvm::any_of(dims, [](const WindowDim &d) { return d.isPadded(); }) &&
      !repeats(body, op->getOperands().drop_front(op->getNumResults())))
    return "windows that reach padding, from a start that changes what it is combined with once more";
  if (!s)
    return why;
  double taps = 1;
  bool padded = false;
  for (const WindowDim &d : dims) {
    taps *= static_cast<double>(d.size);
    padded |= d.isPadded();
  }
  if (padded && !s->neutral && !s->c.repeats())
    return "a start that is added or multiplied once for each place in the padding";
  if (scanOf(dims))
    return "";
  if (taps > 65536)
    return "windows of more than 65536 elements";
  return planOf(dims, *s) ? "" : "a window that does not fit on chip, or more than four dimensions of windows";
}

// One number everywhere, in HBM: where rows of padding lie between, a tile cannot be filled at once.
static Tile spread(KernelBuilder &k, DType type, const std::vector<int64_t> &shape, double value) {
  const Tile all = k.scratch(type, shape);
  const int64_t n = all.elements(), piece = std::min<int64_t>(n, 2048);
  const Tile flat = all.reshaped({n}), t = k.sbuf(type, std::min<int64_t>(128, (n + piece - 1) / piece), {piece});
  k.fill(t, value);
  for (int64_t at = 0; at < n;) {
    const int64_t rows = std::min<int64_t>(t.partitions, (n - at) / piece), some = rows > 0 ? rows * piece : n - at;
    k.copy(rows > 0 ? flat.part(0, at, some).reshaped({rows, piece}) : flat.part(0, at, some),
           rows > 0 ? t.rows(0, rows) : t.rows(0, 1).columns(0, some));
    at += some;
  }
  return all;
}

void emitWindowReduction(KernelBuilder &k, mlir::Operation *op, const Tile &in, std::optional<double> splat,
                         const Tile &out) {
  std::string why;
  const Sum s = *sumOf(op, why);
  if (elementsOf(op->getResult(0)) == 0)
    return;
  const std::vector<WindowDim> dims = windowDims(op, op->getOperand(0), op->getResult(0));
  if (const std::optional<WindowScan> scan = scanOf(dims); scan)
    return emitScan(k, *scan, s.c, s.start, splat ? spread(k, s.c.type, shapeOf(op->getOperand(0)), *splat) : in, out);
  const std::optional<WindowPlan> plan = planOf(dims, s);
  if (!plan)
    throw std::logic_error("windows without a plan");
  if (splat && llvm::any_of(plan->rows, [](const WindowDim &d) { return d.isPadded(); }))
    return Windows(k, s, *plan, spread(k, s.c.type, shapeOf(op->getOperand(0)), *splat), std::nullopt, out).run();
  Windows(k, s, *plan, in, splat, out).run();
}

} // namespace glia::emit
