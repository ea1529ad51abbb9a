#include "Epilogue.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Graph/Graph.h"

#include <algorithm>

namespace glia::emit {

namespace {

using Value = EpiloguePlan::Value;

class Planner {
public:
  Planner(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root, bool products)
      : ops(ops), inside(ops.begin(), ops.end()), products(products) {
    p.root = root;
  }

  std::optional<EpiloguePlan> run() {
    Value whole;
    for (size_t d = 0; d < shapeOf(p.root).size(); ++d)
      whole.place.push_back(static_cast<int>(d));
    p.values[p.root] = whole;
    if (products && llvm::any_of(p.root.getDefiningOp()->getOperands(), [&](mlir::Value v) { return isInside(v); }))
      return std::nullopt; // behind another of the products
    for (mlir::Operation *op : ops)
      if (op != p.root.getDefiningOp() && !visit(op))
        return std::nullopt;
    return std::move(p);
  }

private:
  llvm::ArrayRef<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Operation *> inside;
  bool products;
  EpiloguePlan p;

  bool isInside(mlir::Value v) const { return v.getDefiningOp() && inside.contains(v.getDefiningOp()); }

  Value &valueOf(mlir::Value v) {
    auto [it, fresh] = p.values.try_emplace(v);
    if (!fresh)
      return it->second;
    if (splatOf(v))
      it->second.kind = EpiloguePlan::Splat;
    else if (!isInside(v))
      it->second = {EpiloguePlan::View, v, contiguous(shapeOf(v)), 0, {}};
    return it->second;
  }

  bool visit(mlir::Operation *op) {
    if (op->getNumResults() != 1)
      return false;
    const mlir::Value result = op->getResult(0);
    if (splatOf(result)) {
      p.values[result].kind = EpiloguePlan::Splat;
      return true;
    }
    const llvm::StringRef name = opName(op);
    if (name == "dot_general")
      return product(op);
    if (isAlias(op))
      return alias(op);
    if (name == "broadcast_in_dim")
      return broadcast(op);
    if (name == "transpose")
      return transpose(op);
    if (name == "slice")
      return slice(llvm::cast<graph::SliceOp>(op));
    return isPointwise(name) && refusalOf(op).empty() && pointwise(op);
  }

  // Another product of the same shape, of tensors in HBM.
  bool product(mlir::Operation *op) {
    if (!products || !isShortProduct(op, p.root) ||
        llvm::any_of(op->getOperands(), [&](mlir::Value v) { return isInside(v); }))
      return false;
    p.values[op->getResult(0)].place = p.values[p.root].place;
    return true;
  }

  // The same elements in another shape: of what is made here, only sizes of 1 may come and go.
  bool alias(mlir::Operation *op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const Value from = valueOf(in);
    if (from.kind == EpiloguePlan::View) {
      Tile t;
      t.dims = from.view;
      try {
        p.values[out] = {EpiloguePlan::View, from.source, t.reshaped(shapeOf(out)).dims, from.offset, {}};
      } catch (const std::logic_error &) {
        return false;
      }
      return true;
    }
    Value to;
    const std::optional<std::vector<int>> kept = keptDims(shapeOf(in), shapeOf(out));
    if (!kept)
      return false;
    for (int i : *kept)
      to.place.push_back(i < 0 ? -1 : from.place[static_cast<size_t>(i)]);
    p.values[out] = std::move(to);
    return true;
  }

  bool broadcast(mlir::Operation *op) {
    const mlir::Value in = op->getOperand(0), out = op->getResult(0);
    const Value from = valueOf(in);
    if (from.kind != EpiloguePlan::View)
      return false;
    const auto dims = llvm::cast<graph::BroadcastInDimOp>(op).getBroadcastDimensions();
    Dims view;
    for (int64_t n : shapeOf(out))
      view.push_back({0, n});
    for (size_t i = 0; i < from.view.size(); ++i)
      if (from.view[i].count != 1)
        view[static_cast<size_t>(dims[i])] = from.view[i];
    p.values[out] = {EpiloguePlan::View, from.source, view, from.offset, {}};
    return true;
  }

  bool transpose(mlir::Operation *op) {
    const Value from = valueOf(op->getOperand(0));
    Value to;
    to.kind = from.kind;
    to.source = from.source;
    to.offset = from.offset;
    for (int64_t d : llvm::cast<graph::TransposeOp>(op).getPermutation())
      if (from.kind == EpiloguePlan::View)
        to.view.push_back(from.view[static_cast<size_t>(d)]);
      else
        to.place.push_back(from.place[static_cast<size_t>(d)]);
    p.values[op->getResult(0)] = std::move(to);
    return true;
  }

  // A part of another tensor.
  bool slice(graph::SliceOp op) {
    Value part = valueOf(op->getOperand(0));
    if (part.kind != EpiloguePlan::View)
      return false;
    part.offset += partOf(part.view, op.getStartIndices(), op.getStrides(), shapeOf(op->getResult(0)));
    p.values[op->getResult(0)] = std::move(part);
    return true;
  }

  bool pointwise(mlir::Operation *op) {
    const std::vector<int64_t> shape = shapeOf(op->getResult(0));
    Value to;
    for (mlir::Value v : op->getOperands()) {
      const Value &from = valueOf(v);
      if (from.kind != EpiloguePlan::Made) {
        if (from.kind == EpiloguePlan::View && shapeOf(v) != shape && elementsOf(v) != 1)
          return false;
        continue;
      }
      if (shapeOf(v) != shape || (!to.place.empty() && to.place != from.place))
        return false;
      to.place = from.place;
    }
    if (to.place.empty() && !shape.empty())
      return false; // nothing of the anchor's in it
    if (shape.empty() &&
        llvm::none_of(op->getOperands(), [&](mlir::Value v) { return valueOf(v).kind == EpiloguePlan::Made; }))
      return false;
    p.values[op->getResult(0)] = std::move(to);
    return true;
  }
};

} // namespace

std::optional<EpiloguePlan> planEpilogue(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root, bool products) {
  return Planner(ops, root, products).run();
}

int64_t epilogueBytes(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value root, int64_t columns) {
  constexpr int64_t kBetween = 14; // bytes per column that an operation may need besides its operands
  llvm::DenseMap<mlir::Value, size_t> last;
  for (size_t i = 0; i < ops.size(); ++i)
    for (mlir::Value v : ops[i]->getOperands())
      last[v] = i;
  int64_t now = sizeOf(heldType(root)), most = now, others = 0;
  llvm::DenseSet<mlir::Value> alive{root};
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] == root.getDefiningOp() || !isPointwise(opName(ops[i])))
      continue;
    for (mlir::Value v : ops[i]->getOperands())
      if (!splatOf(v) && alive.insert(v).second)
        now += sizeOf(heldType(v));
    if (alive.insert(ops[i]->getResult(0)).second)
      now += sizeOf(heldType(ops[i]->getResult(0)));
    others = kBetween;
    most = std::max(most, now);
    for (mlir::Value v : ops[i]->getOperands())
      if (alive.contains(v) && last[v] <= i && alive.erase(v))
        now -= sizeOf(heldType(v));
  }
  return 2 * (most + others) * columns;
}

bool onlyReduced(mlir::Value v) {
  bool any = false;
  for (mlir::Operation *user : v.getUsers()) {
    any = true;
    if (isAlias(user)) {
      if (!llvm::all_of(user->getResults(), [&](mlir::Value r) { return aliasOf(r) != v || onlyReduced(r); }))
        return false;
    } else if (opName(user) != "reduce") {
      return false;
    }
  }
  return any;
}

Epilogue::Epilogue(KernelBuilder &k, const Group &g, mlir::Value root, std::span<const Tile> inputs,
                   std::span<const Tile> outputs, bool withProducts)
    : k(k), g(g), lanes(k) {
  std::optional<EpiloguePlan> found = planEpilogue(g.ops, root, withProducts);
  if (!found)
    throw std::logic_error("an epilogue without a plan");
  plan = std::move(*found);
  const auto inputOf = [&](mlir::Value v) -> const Tile & {
    return inputs[static_cast<size_t>(std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin())];
  };
  for (mlir::Operation *op : g.ops) {
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op); dot && op != root.getDefiningOp()) {
      std::unique_ptr<ShortProduct> &made = products[op];
      made = std::make_unique<ShortProduct>(dot, inputOf(op->getOperand(0)), inputOf(op->getOperand(1)));
      all.push_back(made->strides(0));
      all.push_back(made->strides(1));
      continue;
    }
    if (op == root.getDefiningOp() || !isPointwise(opName(op)) || plan.values[op->getResult(0)].kind != EpiloguePlan::Made)
      continue;
    const std::vector<int> &place = plan.values[op->getResult(0)].place;
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      const Value &v = plan.values[op->getOperand(i)];
      if (v.kind != EpiloguePlan::View)
        continue;
      ins[{op, i}] = {inputOf(v.source), stridesOf(v.view, place)};
      ins[{op, i}].tile.offset += v.offset;
      all.push_back(ins[{op, i}].strides);
    }
  }
  for (size_t i = 0; i < g.outputs.size(); ++i) {
    const mlir::Value v = g.outputs[i];
    outs[v] = {outputs[i], stridesOf(contiguous(shapeOf(v)), plan.values[v].place)};
    all.push_back(outs[v].strides);
  }
}

std::vector<int64_t> Epilogue::stridesOf(const Dims &view, const std::vector<int> &place) const {
  std::vector<int64_t> out(shapeOf(plan.root).size(), 0);
  for (size_t d = 0; d < view.size() && d < place.size(); ++d) // a scalar has none
    if (place[d] >= 0 && view[d].count != 1)
      out[static_cast<size_t>(place[d])] = view[d].stride;
  return out;
}

// A single reader that takes its operand from PSUM saves the copy.
bool Epilogue::staysInPsum() const {
  if (heldType(plan.root) != DType::F32 || !plan.root.hasOneUse() || outs.contains(plan.root))
    return false;
  static constexpr llvm::StringLiteral kTakes[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  mlir::Operation *user = *plan.root.getUsers().begin();
  return llvm::is_contained(kTakes, opName(user)) && g.contains(user);
}

void Epilogue::moved(int dim, int reg, int64_t step) {
  still();
  const auto move = [&](Tensor &t) {
    if (const int64_t stride = t.strides[static_cast<size_t>(dim)])
      t.tile.moves.push_back({reg, stride * step});
  };
  for (auto &[key, t] : ins)
    move(t);
  for (auto &[key, t] : outs)
    move(t);
}

void Epilogue::still() {
  kept.clear();
  lanes.forget();
  for (auto &[key, t] : ins)
    t.tile.moves.clear();
  for (auto &[key, t] : outs)
    t.tile.moves.clear();
}

int64_t Epilogue::steps() const {
  return llvm::count_if(g.ops, [&](mlir::Operation *op) {
    const auto it = plan.values.find(op->getResult(0));
    return op != plan.root.getDefiningOp() && (isPointwise(opName(op)) || products.contains(op)) &&
           it != plan.values.end() && it->second.kind == EpiloguePlan::Made;
  });
}

void Epilogue::block(const Tile &sums, const Block &b, bool byScalar) {
  values.clear();
  lanes.resize(sums.partitions, sums.elements());
  Lane root;
  root.type = heldType(plan.root);
  if (staysInPsum() || (sums.space == Space::Sbuf && sums.dtype == root.type)) {
    root.tile = sums;
  } else {
    root.tile = lanes.make(root.type, lanes.nc);
    if (byScalar && sums.space == Space::Psum)
      k.activation(root.tile, sums, "copy");
    else
      k.move(root.tile, sums);
  }
  values[plan.root] = root;
  if (outs.contains(plan.root))
    store(plan.root, root, b);
  for (mlir::Operation *op : g.ops) {
    if (op == plan.root.getDefiningOp())
      continue;
    const mlir::Value result = op->getResult(0);
    if (plan.values[result].kind != EpiloguePlan::Made)
      continue;
    k.location(op->getLoc());
    if (const auto made = products.find(op); made != products.end()) {
      Lane lane;
      lane.type = heldType(result);
      lane.tile = lanes.make(lane.type, lanes.nc);
      k.move(lane.tile, made->second->block(k, b, lanes.nr, lanes.nc));
      values[result] = lane;
    } else if (!isPointwise(opName(op)) || isAlias(op)) { // another view of the same elements
      const Lane same = values.lookup(op->getOperand(0));
      values[result] = same;
    } else {
      llvm::SmallVector<Lane, 3> in;
      for (unsigned i = 0; i < op->getNumOperands(); ++i) {
        const mlir::Value v = op->getOperand(i);
        Lane lane;
        if (const auto it = values.find(v); it != values.end()) {
          lane = it->second;
        } else if (const auto at = ins.find({op, i}); at != ins.end()) {
          lane = fetch(at->second, heldType(v), b);
        } else {
          lane.splat = splatOf(v);
          lane.type = heldType(v);
        }
        in.push_back(lane);
      }
      const Lane made = lanes.pointwise(op, in);
      values[result] = made;
    }
    if (outs.contains(result))
      store(result, values.lookup(result), b);
  }
}

namespace {

Dims along(const std::vector<Loop> &loops, const std::vector<int64_t> &strides) {
  Dims out;
  for (const Loop &l : loops)
    out.push_back({strides[static_cast<size_t>(l.dim)] * l.step, l.count});
  return merged(out);
}

int64_t startOf(const Block &b, const std::vector<int64_t> &strides) {
  int64_t out = 0;
  for (size_t d = 0; d < b.start.size(); ++d)
    out += b.start[d] * strides[d];
  return out;
}

} // namespace

Lane Epilogue::fetch(const Tensor &t, DType type, const Block &b) {
  constexpr size_t kMostKept = 8;
  const Dims rows = along(b.rows, t.strides), columns = along(b.columns, t.strides);
  const int64_t offset = startOf(b, t.strides);
  const bool still = isStill(rows);
  Lane lane;
  lane.type = type;
  lane.row = isStill(columns);
  const int64_t n = lane.row ? 1 : lanes.nc;
  if (still)
    for (const Kept &old : kept)
      if (old.tensor == &t && old.offset == offset && old.column == (lane.row ? 0 : b.column) && old.columns == n &&
          old.lane.tile.partitions >= lanes.nr) {
        lane.tile = old.lane.tile.rows(0, lanes.nr);
        return lane;
      }
  lane.tile = lanes.make(type, n);
  Tile from = t.tile;
  from.offset += offset;
  load(k, lane.tile, from, still ? Dims{{0, lanes.nr}} : rows, lane.row ? Dims{} : columns, still ? 0 : b.row,
       lane.row ? 0 : b.column);
  if (still) {
    if (kept.size() == kMostKept)
      kept.erase(kept.begin());
    kept.push_back({&t, offset, lane.row ? 0 : b.column, n, lane});
  }
  return lane;
}

void Epilogue::store(mlir::Value v, const Lane &lane, const Block &b) {
  const Tensor &t = outs[v];
  Tile to = t.tile;
  to.offset += startOf(b, t.strides);
  emit::store(k, to, lanes.whole(lane), along(b.rows, t.strides), along(b.columns, t.strides), b.row, b.column);
}

} // namespace glia::emit
