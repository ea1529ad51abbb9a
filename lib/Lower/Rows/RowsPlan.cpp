#include "RowsPlan.h"
#include "RowsNeeds.h"
#include "glia/Graph/Graph.h"

#include <algorithm>
#include <limits>

namespace glia::emit {

namespace {

DType typeOf(mlir::Value v) {
  return machineType(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType()).value_or(DType::F32);
}

enum class Axes { Trailing, Leading, Mixed };

Axes axesOf(const std::vector<int64_t> &shape, const std::vector<int64_t> &reduced) {
  bool keptAfter = false, reducedAfter = false, seenKept = false, seenReduced = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1)
      continue;
    const bool gone = llvm::is_contained(reduced, static_cast<int64_t>(d));
    keptAfter |= !gone && seenReduced;
    reducedAfter |= gone && seenKept;
    (gone ? seenReduced : seenKept) = true;
  }
  return !keptAfter ? Axes::Trailing : !reducedAfter ? Axes::Leading : Axes::Mixed;
}

class Planner {
public:
  explicit Planner(llvm::ArrayRef<mlir::Operation *> ops) : ops(ops), inside(ops.begin(), ops.end()) {}

  std::optional<RowsPlan> run() {
    for (mlir::Operation *op : ops)
      if (!visit(op))
        return alone();
    for (mlir::Operation *op : ops) // views that nobody inside reads are results
      for (mlir::Value v : op->getResults())
        if (p.values[v].kind == RowsKind::View && llvm::none_of(v.getUsers(), [&](auto *u) { return inside.contains(u); }))
          loaded.insert(v);
    if (!classes() || !layout())
      return alone();
    return std::move(p);
  }

private:
  llvm::ArrayRef<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> inside;
  RowsPlan p;
  llvm::SmallSetVector<mlir::Value, 8> loaded; // views that are read from HBM as they are
  std::vector<mlir::Value> computed;
  int64_t rows = 0, sums = 0;
  bool reduces = false;

  // A reduction over any axes of a tensor in HBM.
  std::optional<RowsPlan> alone() {
    if (ops.size() != 1 || opName(ops[0]) != "reduce")
      return std::nullopt;
    p.alone = true;
    return std::move(p);
  }

  bool isInside(mlir::Value v) const { return v.getDefiningOp() && inside.contains(v.getDefiningOp()); }

  RowsValue &valueOf(mlir::Value v) {
    auto [it, fresh] = p.values.try_emplace(v);
    if (!fresh)
      return it->second;
    if (splatOf(v))
      it->second.kind = RowsKind::Splat;
    else if (!isInside(v))
      it->second = {RowsKind::View, v, contiguous(shapeOf(v))};
    return it->second;
  }

  bool setRows(int64_t n) {
    if (rows != 0 && rows != n)
      return false;
    rows = n;
    return true;
  }

  bool visit(mlir::Operation *op) {
    const llvm::StringRef name = opName(op);
    const mlir::Value result = op->getResult(0);
    if (splatOf(result)) {
      p.values[result].kind = RowsKind::Splat;
      computed.push_back(result);
      return true;
    }
    if (name == "optimization_barrier")
      return false;
    if (name == "iota") { // a view of 0, 1, 2 ...
      Dims view;
      for (int64_t n : shapeOf(result))
        view.push_back({0, n});
      view[static_cast<size_t>(llvm::cast<graph::IotaOp>(op).getIotaDimension())].stride = 1;
      p.values[result] = {RowsKind::View, result, view};
      return true;
    }
    if (isAlias(op))
      return reshape(op);
    if (name == "slice")
      return slice(llvm::cast<graph::SliceOp>(op));
    if (name == "concatenate")
      return join(op);
    if (name == "reduce")
      return reduce(op);
    if (name == "broadcast_in_dim")
      return broadcast(op);
    if (!isPointwise(name))
      return false;
    bool uniform = true;
    for (mlir::Value v : op->getOperands()) {
      const RowsKind kind = valueOf(v).kind;
      if (kind == RowsKind::Sum || kind == RowsKind::Joined)
        return false;
      if (kind == RowsKind::Splat || kind == RowsKind::Uniform)
        continue;
      uniform = false;
      if (elementsOf(v) != elementsOf(result) && kind != RowsKind::View)
        return false; // a scalar that is computed here is not yet known in every row
      if (kind == RowsKind::View && shapeOf(v) == shapeOf(result))
        loaded.insert(v);
    }
    p.values[result].kind = uniform ? RowsKind::Uniform : RowsKind::Computed;
    if (!uniform || llvm::none_of(result.getUsers(), [&](auto *u) { return inside.contains(u); }))
      computed.push_back(result);
    return true;
  }

  bool reduce(mlir::Operation *op) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    const mlir::Value data = op->getOperand(0), result = op->getResult(0);
    const RowsValue from = valueOf(data);
    if (!r || from.kind == RowsKind::Sum || from.kind == RowsKind::Joined || elementsOf(data) == 0)
      return false;
    if (from.kind == RowsKind::View)
      loaded.insert(data);
    const int64_t kept = elementsOf(result), gone = elementsOf(data) / std::max<int64_t>(kept, 1);
    const Axes axes = axesOf(shapeOf(data), r->dims);
    if (axes == Axes::Trailing) {
      if (kept < 16 && gone > 4096)
        return false; // too few rows for the engines
      reduces = true;
      p.values[result].kind = RowsKind::Computed;
      computed.push_back(result);
      return setRows(kept);
    }
    if (axes != Axes::Leading || r->op != "add" || !isFloat(r->type) || !r->identity)
      return false;
    sums += (kept + kSumColumns - 1) / kSumColumns;
    p.values[result].kind = RowsKind::Sum;
    return sums <= kSumBanks && setRows(gone);
  }

  bool broadcast(mlir::Operation *op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const RowsValue from = valueOf(in);
    if (from.kind == RowsKind::Sum || from.kind == RowsKind::Joined || from.kind == RowsKind::Splat)
      return false;
    if (from.kind == RowsKind::Uniform) {
      p.values[out] = {RowsKind::Uniform, in, {}};
      if (llvm::none_of(out.getUsers(), [&](auto *u) { return inside.contains(u); }))
        computed.push_back(out);
      return true;
    }
    const Dims operand = from.kind == RowsKind::View ? from.view : contiguous(shapeOf(in));
    const auto dims = llvm::cast<graph::BroadcastInDimOp>(op).getBroadcastDimensions();
    Dims view;
    for (int64_t n : shapeOf(out))
      view.push_back({0, n});
    for (size_t i = 0; i < operand.size(); ++i)
      if (operand[i].count != 1)
        view[static_cast<size_t>(dims[i])] = operand[i];
    if (from.kind == RowsKind::View) {
      p.values[out] = {RowsKind::View, from.source, view, from.offset};
      return true;
    }
    p.values[out] = {RowsKind::RowSpread, in, {}};
    const int64_t n = elementsOf(in), all = elementsOf(out);
    if (n == all && merged(view).size() <= 1)
      return true;
    const Dims m = merged(view);
    return n > 1 && m.size() == 2 && m[0].stride == 1 && m[0].count == n && m[1].stride == 0 && setRows(n);
  }

  bool reshape(mlir::Operation *op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const RowsValue from = valueOf(in);
    if (from.kind == RowsKind::Sum || from.kind == RowsKind::Joined)
      return false;
    if (from.kind != RowsKind::View) {
      p.values[out] = {from.kind == RowsKind::Uniform ? RowsKind::Uniform : RowsKind::RowSpread, in, {}};
      return true;
    }
    Tile t;
    t.dims = from.view;
    try {
      p.values[out] = {RowsKind::View, from.source, t.reshaped(shapeOf(out)).dims, from.offset};
    } catch (const std::logic_error &) {
      return false;
    }
    return true;
  }

  bool slice(graph::SliceOp op) {
    const RowsValue from = valueOf(op->getOperand(0));
    if (from.kind != RowsKind::View || isInside(from.source))
      return false;
    RowsValue part = from;
    part.offset += partOf(part.view, op.getStartIndices(), op.getStrides(), shapeOf(op->getResult(0)));
    p.values[op->getResult(0)] = std::move(part);
    return true;
  }

  // Values of this group, and what another one like it makes: the two may become one. Nobody here reads the whole.
  bool join(mlir::Operation *op) {
    const std::vector<int64_t> shape = shapeOf(op->getResult(0));
    const auto dim = static_cast<size_t>(llvm::cast<graph::ConcatenateOp>(op).getDimension());
    std::vector<RowsPart> &parts = p.joined[op->getResult(0)];
    std::vector<int64_t> start(shape.size(), 0);
    const std::vector<int64_t> step(shape.size(), 1);
    for (mlir::Value v : op->getOperands()) {
      const RowsKind kind = valueOf(v).kind;
      const bool made = isInside(v) ? kind == RowsKind::Computed
                                    : kind == RowsKind::View && v.getDefiningOp() && isPointwise(opName(v.getDefiningOp()));
      if (!made)
        return false;
      if (kind == RowsKind::View)
        loaded.insert(v);
      RowsPart &part = parts.emplace_back();
      part.view = contiguous(shape);
      part.offset = partOf(part.view, start, step, shapeOf(v));
      start[dim] += shapeOf(v)[dim];
    }
    p.values[op->getResult(0)].kind = RowsKind::Joined;
    return true;
  }

  // Every value has all elements, or one per row.
  bool classes() {
    p.elements = 0;
    for (mlir::Value v : computed)
      p.elements = std::max(p.elements, elementsOf(v));
    for (mlir::Value v : loaded)
      p.elements = std::max(p.elements, elementsOf(v));
    const auto reallyReduces = [&](mlir::Operation *op) {
      const RowsKind kind = p.values[op->getResult(0)].kind;
      return opName(op) == "reduce" && (kind == RowsKind::Computed || kind == RowsKind::Sum);
    };
    for (mlir::Operation *op : ops)
      if (reallyReduces(op))
        p.elements = std::max(p.elements, elementsOf(op->getOperand(0)));
    if (rows && (p.elements % rows))
      return false;
    const auto fits = [&](mlir::Value v) { return elementsOf(v) == p.elements || (rows && elementsOf(v) == rows); };
    for (mlir::Operation *op : ops) {
      if (reallyReduces(op) && elementsOf(op->getOperand(0)) != p.elements)
        return false;
      for (mlir::Value v : op->getResults())
        if (const RowsKind kind = p.values[v].kind; kind == RowsKind::RowSpread && !fits(v))
          return false;
      if (p.values[op->getResult(0)].kind == RowsKind::Joined &&
          llvm::any_of(op->getOperands(), [&](mlir::Value v) { return elementsOf(v) != p.elements; }))
        return false;
    }
    return llvm::all_of(computed, fits) && llvm::all_of(loaded, fits);
  }

  // Bytes per column of the values that are alive together, and room for what an operation needs between.
  int64_t bytesAlive() {
    llvm::DenseMap<mlir::Value, size_t> last;
    const auto root = [&](mlir::Value v) {
      while (p.values[v].kind == RowsKind::RowSpread)
        v = p.values[v].source;
      return v;
    };
    for (size_t i = 0; i < ops.size(); ++i) {
      for (mlir::Value v : ops[i]->getOperands())
        last[root(v)] = i;
      for (mlir::Value v : ops[i]->getResults())
        last.try_emplace(root(v), i);
    }
    int64_t now = 0, most = 0, always = 0;
    llvm::DenseSet<mlir::Value> alive;
    for (mlir::Value v : loaded) // the same for all rows: stays on chip
      if (Dims r, c;
          rows && elementsOf(v) == p.elements && splitAt(p.values[v].view, p.elements / rows, r, c) && isStill(r)) {
        always += sizeOf(typeOf(v));
        alive.insert(v);
        last[v] = ops.size();
      }
    for (size_t i = 0; i < ops.size(); ++i) {
      const auto begin = [&](mlir::Value v) {
        v = root(v);
        const RowsKind kind = p.values[v].kind;
        const bool tile = kind == RowsKind::Computed || (kind == RowsKind::View && loaded.contains(v));
        if (tile && elementsOf(v) == p.elements && alive.insert(v).second)
          now += sizeOf(typeOf(v));
      };
      for (mlir::Value v : ops[i]->getOperands())
        begin(v);
      for (mlir::Value v : ops[i]->getResults())
        begin(v);
      most = std::max(most, now + between(ops[i]));
      for (auto it = alive.begin(); it != alive.end();) {
        const mlir::Value v = *it++;
        if (last[v] <= i) {
          now -= sizeOf(typeOf(v));
          alive.erase(v);
        }
      }
    }
    return std::max<int64_t>(always + most, 4);
  }
  // Nothing per column for an operation on one element per row; reductions of 32-bit integers fold the row.
  int64_t between(mlir::Operation *op) {
    const auto full = [&](mlir::Value v) {
      const RowsKind kind = p.values[v].kind;
      return kind != RowsKind::Splat && kind != RowsKind::Uniform && kind != RowsKind::RowSpread &&
             elementsOf(v) == p.elements;
    };
    if (opName(op) == "reduce")
      return isFloat(typeOf(op->getOperand(0))) ? 0 : 4;
    if (elementsOf(op->getResult(0)) != p.elements)
      return 0;
    if (opName(op) == "divide" && isFloat(typeOf(op->getResult(0))) && !full(op->getOperand(1)))
      return 2; // the reciprocal is one per row
    return bytesBetween(op);
  }

  bool splits(int64_t columns) const {
    Dims r, c;
    for (mlir::Value v : loaded)
      if (elementsOf(v) == p.elements && !splitAt(p.values.lookup(v).view, columns, r, c))
        return false;
    for (const auto &[whole, parts] : p.joined)
      for (const RowsPart &part : parts)
        if (!splitAt(part.view, columns, r, c))
          return false;
    return true;
  }

  // Long rows may be taken piece by piece if rows are enough to use the partitions.
  bool inPieces() {
    constexpr int64_t kFewRows = 32, kMostSweeps = 4;
    if (sums || rows < kFewRows || ops.size() < 2)
      return false;
    for (mlir::Operation *op : ops) {
      const mlir::Value result = op->getResult(0);
      int64_t level = 0;
      for (mlir::Value v : op->getOperands())
        level = std::max(level, p.level.lookup(v));
      if (reducesRows(op)) {
        if (!isFloat(typeOf(result)))
          return false;
        ++level;
      }
      if (level && elementsOf(result) != p.elements) {
        if (elementsOf(result) != rows)
          return false;
        p.after.insert(result);
      } else {
        p.sweeps = std::max(p.sweeps, level + 1);
      }
      p.level[result] = level;
    }
    return p.sweeps <= kMostSweeps;
  }

  bool reducesRows(mlir::Operation *op) {
    return opName(op) == "reduce" && p.values[op->getResult(0)].kind == RowsKind::Computed;
  }

  // What one sweep has on chip and a later one reads stays there: bytes of a column, where that is most.
  int64_t bytesKept() {
    llvm::MapVector<mlir::Value, std::pair<int64_t, int64_t>> stays; // the first and the last sweep that has it
    for (mlir::Operation *op : ops) {
      const mlir::Value result = op->getResult(0);
      if (p.after.contains(result) && !reducesRows(op))
        continue;
      const int64_t sweep = p.level.lookup(result) - reducesRows(op);
      for (mlir::Value v : op->getOperands()) {
        while (p.values[v].kind == RowsKind::RowSpread)
          v = p.values[v].source;
        const RowsKind kind = p.values[v].kind;
        if (elementsOf(v) != p.elements || (kind != RowsKind::Computed && kind != RowsKind::View))
          continue;
        auto [it, fresh] = stays.try_emplace(v, kind == RowsKind::View ? sweep : p.level.lookup(v), sweep);
        it->second.first = std::min(it->second.first, sweep);
        it->second.second = std::max(it->second.second, sweep);
      }
    }
    std::vector<int64_t> bytes(static_cast<size_t>(p.sweeps));
    for (const auto &[v, when] : stays)
      if (when.first < when.second) {
        p.kept[v] = when.second;
        for (int64_t s = when.first; s < when.second; ++s)
          bytes[static_cast<size_t>(s)] += sizeOf(typeOf(v));
      }
    return *std::max_element(bytes.begin(), bytes.end());
  }

  // Long rows that leave partitions empty are cut into as many parts as find room.
  int64_t foldOf() const {
    for (int64_t parts = 128 / rows; parts > 1; --parts)
      if (p.columns % parts == 0 && splits(p.columns / parts))
        return parts;
    return 1;
  }

  // The size of as few pieces as there can be, all of one size.
  static int64_t evenPieces(int64_t columns, int64_t most) {
    const int64_t pieces = (columns + most - 1) / most;
    return (columns + pieces - 1) / std::max<int64_t>(pieces, 1);
  }

  // Many tiles, so that engines and transfers find some to work on, unless their rows become too short.
  int64_t columnsThatFit(int64_t alive) {
    int64_t narrowest = 4;
    for (mlir::Value v : loaded)
      if (elementsOf(v) == p.elements)
        narrowest = std::min<int64_t>(narrowest, sizeOf(typeOf(v)));
    return std::clamp(kGoodRow / narrowest, kRowsBudget / (kMostInFlight * alive), kRowsBudget / (kLeastInFlight * alive));
  }

  bool layout() {
    const int64_t alive = bytesAlive(), fit = std::max<int64_t>(columnsThatFit(alive), 1);
    p.alive = alive;
    p.chunk = fit;
    if (p.elements == 0)
      return true;
    if (rows) {
      p.rows = rows;
      p.columns = p.elements / rows;
      // Reductions have the whole row on chip: twice, so that the next rows come in meanwhile, or once; or pieces of it.
      if ((reduces || sums) && p.columns > fit && p.columns * alive > kRowsBudget && !inPieces())
        return false;
      p.chunk = reduces || sums ? p.columns : evenPieces(p.columns, fit);
      if (!p.after.empty()) {
        constexpr int64_t kRoom = 2 * kRowsBudget, kShortest = 256;
        p.fold = foldOf();
        const int64_t kept = bytesKept() * (p.columns / p.fold);
        const int64_t most = kept ? std::min(fit, (kRoom * 15 / 16 - kept) / (kLeastInFlight * alive)) : fit;
        if (kept && (kept > kRoom * 3 / 4 || most < kShortest))
          return false;
        p.chunk = evenPieces(p.columns / p.fold, std::min(most, kLongestPiece));
      }
      return splits(p.columns);
    }
    const auto plain = [&](const Dims &view) {
      const Dims m = merged(view);
      return m.empty() || (m.size() == 1 && m[0].stride <= 1);
    };
    const auto plainParts = [&](const auto &whole) {
      return llvm::all_of(whole.second, [&](const RowsPart &part) { return plain(part.view); });
    };
    if (llvm::all_of(loaded, [&](mlir::Value v) { return plain(p.values.lookup(v).view); }) &&
        llvm::all_of(p.joined, plainParts))
      return true;
    // Some view goes by rows: the split of its shape that takes the engines the least time.
    double best = std::numeric_limits<double>::infinity();
    int64_t columns = 1;
    for (mlir::Value v : loaded) {
      const std::vector<int64_t> shape = shapeOf(v);
      for (size_t k = shape.size() + 1; k-- > 0; columns *= k ? shape[k - 1] : 1) {
        if (!splits(columns))
          continue;
        const int64_t tiles = (p.elements / columns + 127) / 128 * ((columns + fit - 1) / fit);
        const double time = static_cast<double>(tiles) * (static_cast<double>(std::min(columns, fit)) + 300);
        if (time < best) {
          best = time;
          p.columns = columns;
        }
      }
      break;
    }
    p.rows = p.elements / p.columns;
    p.chunk = evenPieces(p.columns, fit);
    return best < std::numeric_limits<double>::infinity();
  }
};

} // namespace

std::optional<RowsPlan> planRows(llvm::ArrayRef<mlir::Operation *> ops) { return Planner(ops).run(); }

} // namespace glia::emit
