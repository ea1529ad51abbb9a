#include "SlabsPlan.h"
#include "RowsNeeds.h"
#include "glia/Graph/Graph.h"
#include "glia/ISA/AluRules.h"

#include <algorithm>
#include <limits>

namespace glia::emit {

namespace {

DType typeOf(mlir::Value v) {
  return machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()).value_or(DType::F32);
}

class Planner {
public:
  explicit Planner(llvm::ArrayRef<mlir::Operation *> ops) : ops(ops), inside(ops.begin(), ops.end()) {}

  std::optional<SlabsPlan> run() {
    const auto first = llvm::find_if(ops, [](mlir::Operation *op) { return opName(op) == "reduce"; });
    if (first == ops.end() || !axes(*first))
      return std::nullopt;
    for (mlir::Operation *op : ops)
      if (op->getNumResults() != 1 || !visit(op))
        return std::nullopt;
    if (!layout())
      return std::nullopt;
    return std::move(p);
  }

private:
  llvm::ArrayRef<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> inside;
  SlabsPlan p;

  // [outer, depth, inner] of a reduction; false if it goes over other axes than the ones before, or over the last.
  bool axes(mlir::Operation *op) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    if (!r || isWide(r->type) || !(r->op == "max" || r->op == "min" || (r->op == "add" && isFloat(r->type))))
      return false;
    const std::vector<int64_t> shape = shapeOf(op->getOperand(0));
    int64_t sizes[3] = {1, 1, 1};
    size_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1)
        continue;
      const bool gone = llvm::is_contained(r->dims, static_cast<int64_t>(d));
      if (gone != (at == 1))
        ++at;
      if (at > 2)
        return false;
      sizes[at] *= shape[d];
    }
    if (sizes[1] <= 1 || sizes[2] <= 1 || sizes[0] == 0)
      return false;
    if (p.depth && (p.outer != sizes[0] || p.depth != sizes[1] || p.inner != sizes[2]))
      return false;
    p.outer = sizes[0], p.depth = sizes[1], p.inner = sizes[2];
    return true;
  }

  bool fits(mlir::Value v) const { return elementsOf(v) == p.full() || elementsOf(v) == p.kept(); }

  // How a view goes along the outer indices, the depth and the inner ones.
  bool split(SlabsValue &v, int64_t elements) const {
    Dims rest, n, r;
    const auto one = [](const Dims &d, int64_t &stride) {
      const Dims m = merged(d);
      stride = m.empty() ? 0 : m[0].stride;
      return m.size() <= 1;
    };
    if (!splitAt(v.view, p.inner, rest, n) || !one(n, v.alongInner))
      return false;
    if (elements == p.full()) {
      if (!splitAt(rest, p.depth, v.outer, r) || !one(r, v.alongDepth))
        return false;
    } else {
      v.outer = rest;
    }
    return true;
  }

  bool view(mlir::Value v, mlir::Value source, Dims dims) {
    SlabsValue made{SlabsKind::View, source, std::move(dims), {}, 0, 0, 0};
    if (fits(v) && !split(made, elementsOf(v)))
      return false;
    p.values[v] = std::move(made);
    return true;
  }

  // Known, or an input or a number.
  bool know(mlir::Value v) {
    if (p.values.contains(v))
      return true;
    if (splatOf(v)) {
      p.values[v].kind = SlabsKind::Splat;
      return true;
    }
    return !(v.getDefiningOp() && inside.contains(v.getDefiningOp())) && view(v, v, contiguous(shapeOf(v)));
  }

  bool visit(mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    const mlir::Value result = op->getResult(0);
    if (splatOf(result)) {
      p.values[result].kind = SlabsKind::Splat;
      return fits(result);
    }
    for (mlir::Value v : op->getOperands())
      if (!(name == "reduce" && v == op->getOperand(1)) && !know(v))
        return false;
    if (name == "iota") {
      Dims dims;
      for (int64_t n : shapeOf(result))
        dims.push_back({0, n});
      dims[static_cast<size_t>(llvm::cast<graph::IotaOp>(op).getIotaDimension())].stride = 1;
      return view(result, result, std::move(dims));
    }
    if (name == "broadcast_in_dim")
      return broadcast(llvm::cast<graph::BroadcastInDimOp>(op));
    if (isAlias(op) && name == "reshape")
      return reshape(op);
    if (name == "reduce") {
      if (!axes(op) || elementsOf(op->getOperand(0)) != p.full())
        return false;
      SlabsValue made;
      made.kind = SlabsKind::Kept;
      made.level = p.values[op->getOperand(0)].level + 1;
      p.values[result] = made;
      p.levels = std::max(p.levels, made.level - 1);
      return true;
    }
    if (!isPointwise(name) || !fits(result))
      return false;
    SlabsValue made;
    made.kind = elementsOf(result) == p.full() ? SlabsKind::Full : SlabsKind::Kept;
    for (mlir::Value v : op->getOperands()) {
      const SlabsValue &in = p.values[v];
      if (in.kind != SlabsKind::Splat && elementsOf(v) != elementsOf(result))
        return false;
      made.level = std::max(made.level, in.level);
    }
    p.values[result] = made;
    if (made.kind == SlabsKind::Full)
      p.levels = std::max(p.levels, made.level);
    return true;
  }

  bool broadcast(graph::BroadcastInDimOp op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const SlabsValue from = p.values[in];
    if (!fits(out) || from.kind == SlabsKind::Splat)
      return false;
    const Dims operand = from.kind == SlabsKind::View ? from.view : contiguous(shapeOf(in));
    Dims dims;
    for (int64_t n : shapeOf(out))
      dims.push_back({0, n});
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i].count != 1)
        dims[static_cast<size_t>(op.getBroadcastDimensions()[i])] = operand[i];
    if (from.kind == SlabsKind::View)
      return view(out, from.source, std::move(dims));
    SlabsValue made{elementsOf(in) == elementsOf(out) ? SlabsKind::Same : SlabsKind::Spread, in, dims, {}, 0, 0, from.level};
    if (!split(made, elementsOf(out)))
      return false;
    const Dims outer = merged(made.outer);
    const bool full = elementsOf(in) == p.full();
    const bool inOrder =
        made.alongInner == 1 && (outer.empty() || (outer.size() == 1 && outer[0].stride == (full ? p.depth : 1) * p.inner));
    if (!inOrder || made.alongDepth != (full ? p.inner : 0))
      return false;
    if (made.kind == SlabsKind::Spread)
      p.levels = std::max(p.levels, made.level);
    p.values[out] = std::move(made);
    return true;
  }

  bool reshape(mlir::Operation *op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const SlabsValue from = p.values[in];
    if (from.kind != SlabsKind::View) {
      p.values[out] = {SlabsKind::Same, in, {}, {}, 0, 0, from.level};
      return true;
    }
    Tile t;
    t.dims = from.view;
    try {
      return view(out, from.source, t.reshaped(shapeOf(out)).dims);
    } catch (const std::logic_error &) {
      return false;
    }
  }

  // Bytes per element of the full values that are alive together, and room for what an operation needs between.
  int64_t bytesAlive() {
    llvm::DenseMap<mlir::Value, size_t> last;
    for (size_t i = 0; i < ops.size(); ++i) {
      for (mlir::Value v : ops[i]->getOperands())
        last[rootOf(v)] = i;
      last.try_emplace(rootOf(ops[i]->getResult(0)), i);
    }
    int64_t now = 0, most = 0;
    llvm::DenseSet<mlir::Value> alive;
    const auto begin = [&](mlir::Value v) {
      v = rootOf(v);
      const SlabsKind kind = p.values[v].kind;
      if ((kind == SlabsKind::Full || kind == SlabsKind::View) && elementsOf(v) == p.full() && alive.insert(v).second)
        now += sizeOf(typeOf(v));
    };
    for (size_t i = 0; i < ops.size(); ++i) {
      for (mlir::Value v : ops[i]->getOperands())
        begin(v);
      begin(ops[i]->getResult(0));
      const bool reduces = opName(ops[i]) == "reduce";
      // A spread value may have to be written out for its reader.
      most = std::max(most, now + (reduces                                        ? 2
                                   : elementsOf(ops[i]->getResult(0)) == p.full() ? bytesBetween(ops[i]) + 4
                                                                                  : 0));
      for (auto it = alive.begin(); it != alive.end();) {
        const mlir::Value v = *it++;
        if (last[v] <= i) {
          now -= sizeOf(typeOf(v));
          alive.erase(v);
        }
      }
    }
    return std::max<int64_t>(most, 4);
  }
  mlir::Value rootOf(mlir::Value v) {
    while (p.values[v].kind == SlabsKind::Same)
      v = p.values[v].source;
    return v;
  }

  // Engines take about so many cycles for the beginning of an instruction, and for what crosses the partitions.
  static constexpr double kBegin = 100, kCross = 1200;
  // Cycles per element: of rows that are added or compared half by half, of products with ones, which another engine does meanwhile, of rows
  // that are turned, of an operation.
  static constexpr double kFold = 2, kProducts = 0.8, kTurn = 1.5, kPointwise = 1.3;
  static constexpr int64_t kMostWidth = 128; // inner indices that can be turned onto partitions together
  static constexpr int64_t kMostSpreads = 8;
  static constexpr int64_t kGoodBytes = 128; // of neighbours, for the DMA engines

  bool layout() {
    int64_t reductions = 0, narrowest = 4;
    double inWhole = 0, inParts = 0; // cycles per element
    for (mlir::Operation *op : ops) {
      if (opName(op) == "reduce") {
        std::string why;
        ++reductions;
        inWhole += kFold;
        inParts += reductionOf(op, why)->op == "add" ? kProducts : kTurn;
      } else if (p.values[op->getResult(0)].kind == SlabsKind::Full) {
        inWhole += kPointwise;
        inParts += kPointwise;
      }
    }
    for (const auto &[v, known] : p.values)
      if (known.kind == SlabsKind::View && elementsOf(v) == p.full())
        narrowest = std::min<int64_t>(narrowest, sizeOf(typeOf(v)));
    const int64_t fit = kRowsBudget / (kLeastInFlight * bytesAlive());
    const bool stays = p.levels > 0;
    const int64_t least = std::min(p.inner, kGoodBytes / narrowest);
    double best = std::numeric_limits<double>::infinity();
    // `depth` rows of `width` on each of `partitions`, so many times.
    const auto consider = [&](bool parts, int64_t width, int64_t groups, int64_t depth, int64_t times) {
      if (width > fit || (stays && depth * width > fit))
        return;
      const int64_t rows = stays ? depth : std::clamp<int64_t>(fit / width, 1, depth), pieces = (depth + rows - 1) / rows;
      const double size = static_cast<double>(depth * width),
                   each = (parts ? inParts : inWhole) * (size + kBegin * static_cast<double>(pieces)) +
                          (parts ? kCross * static_cast<double>(reductions) : 0.0),
                   // the first part comes in, and the last goes out, while nothing else is done
          alone = 5 * static_cast<double>(rows * width);
      const double time = static_cast<double>(times) * each + alone;
      if (time < best) {
        best = time;
        p.parts = parts, p.width = width, p.groups = groups, p.rows = rows;
      }
    };
    for (int64_t groups = 1; groups <= 128; groups *= 2) {
      const int64_t width = (p.inner + groups - 1) / groups;
      if (groups > 1 && width < least)
        break;
      for (int64_t cut = width;; cut = (cut + 1) / 2) { // fewer inner indices at a time
        const int64_t perTile = cut * groups, at = std::min<int64_t>(p.outer, 128 / groups);
        consider(false, cut, groups, p.depth, (p.outer + at - 1) / at * ((p.inner + perTile - 1) / perTile));
        if (cut <= least)
          break;
      }
    }
    const int64_t parts = std::min<int64_t>(p.depth, 128);
    for (int64_t width = std::min(p.inner, kMostWidth);; width = (width + 1) / 2) {
      consider(true, width, 1, p.depth / parts + (p.depth % parts != 0), p.outer * ((p.inner + width - 1) / width));
      if (width <= least)
        break;
    }
    if (best == std::numeric_limits<double>::infinity())
      return false;
    p.fewSpreads = inPsum() <= kMostSpreads;
    return true;
  }

  // Tiles of PSUM that hold sums and what comes back of them.
  int64_t inPsum() {
    int64_t n = 0;
    for (mlir::Operation *op : ops) {
      n += opName(op) == "reduce" || opName(op) == "divide";
      n += p.values[op->getResult(0)].kind == SlabsKind::Spread;
    }
    return n;
  }
};

} // namespace

std::optional<SlabsPlan> planSlabs(llvm::ArrayRef<mlir::Operation *> ops) { return Planner(ops).run(); }

} // namespace glia::emit
