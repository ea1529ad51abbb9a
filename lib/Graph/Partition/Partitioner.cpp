#include "Partitioner.h"
#include "glia/Support/Diagnostic.h"

using namespace mlir;

namespace glia::partition {

Partitioner::Partitioner(func::FuncOp f, const Mesh &m, const Layouts &l, const PartitionOptions &o,
                         std::vector<std::string> &w)
    : main(f), mesh(m), layouts(l), options(o), warnings(w), top(new Block), exchange(m, top) {}

Partitioner::Builder Partitioner::builderFor(Operation &op, Block *to) const {
  Builder g(&op);
  g.b.setInsertionPointToEnd(to);
  return g;
}

void Partitioner::run() {
  Block &old = main.getBody().front();
  main.getBody().push_back(top);
  for (const BlockArgument a : old.getArguments())
    parts[a] = top->addArgument(partType(a, layouts.of(a)), a.getLoc());
  SmallVector<Layout> returned;
  for (unsigned i = 0; i < old.getTerminator()->getNumOperands(); ++i)
    returned.push_back(layouts.result(i));
  block(old, top, returned);
  old.dropAllDefinedValueUses();
  old.erase();
  main.setFunctionType(
      FunctionType::get(main.getContext(), top->getArgumentTypes(), top->getTerminator()->getOperandTypes()));
}

// ---- values -----------------------------------------------------------------------------------------------------------------

// Constants and the like are made where they are used, in the layout that is used.
Value Partitioner::remake(Builder &g, Value global, const Layout &wanted) {
  Operation *def = global.getDefiningOp();
  if (auto constant = dyn_cast_or_null<graph::ConstantOp>(def)) {
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return g.constant(splat.resizeSplat(cast<ShapedType>(partType(global, wanted))));
    OperationState state(g.loc, "stablehlo.constant", {}, {global.getType()},
                         {g.b.getNamedAttr("value", constant.getValue())});
    return exchange.reshard(g, g.b.create(state)->getResult(0), Layout::whole(rankOf(global.getType())), wanted);
  }
  if (auto iota = dyn_cast_or_null<graph::IotaOp>(def)) {
    const auto dim = static_cast<int64_t>(iota.getIotaDimension());
    const auto type = cast<RankedTensorType>(partType(global, wanted));
    const Axes &axes = wanted.dims[static_cast<size_t>(dim)];
    if (axes.empty())
      return g.iota(type, dim);
    // Other types than integers would round the start as well.
    const Type element = type.getElementType();
    const auto counted =
        RankedTensorType::get(type.getShape(), isa<IntegerType>(element) ? element : Type(g.b.getI32Type()));
    const Value first = exchange.start(g, axes, type.getDimSize(static_cast<unsigned>(dim)), counted.getElementType());
    return g.convert(g.add(g.iota(counted, dim), g.broadcast(first, {}, counted)), element);
  }
  if (auto spread = dyn_cast_or_null<graph::BroadcastInDimOp>(def); spread && !rankOf(spread.getOperand().getType()))
    return g.broadcast(get(g, spread.getOperand(), {}), {}, cast<RankedTensorType>(partType(global, wanted)));
  return {};
}

Value Partitioner::get(Builder &g, Value global, const Layout &wanted) {
  if (!isa<RankedTensorType>(global.getType()))
    return parts.lookup(global);
  const Value own = parts.lookup(global);
  if (own && layouts.of(global) == wanted)
    return own;
  Block *here = g.b.getInsertionBlock();
  for (const Made &m : made[global])
    if (m.block == here && m.layout == wanted)
      return m.part;
  Value part = remake(g, global, wanted);
  if (!part)
    part = exchange.reshard(g, own, layouts.of(global), wanted);
  made[global].push_back({here, wanted, part});
  return part;
}

void Partitioner::set(Builder &g, Value global, Value part, const Layout &layout) {
  parts[global] = isa<RankedTensorType>(global.getType()) ? exchange.reshard(g, part, layout, layouts.of(global)) : part;
}

// ---- control flow -----------------------------------------------------------------------------------------------------------

void Partitioner::block(Block &from, Block *to, ArrayRef<Layout> returned) {
  for (Operation &op : from.without_terminator())
    operation(op, to);
  Operation *end = from.getTerminator();
  Builder g = builderFor(*end, to);
  SmallVector<Value> values;
  for (unsigned i = 0; i < end->getNumOperands(); ++i)
    values.push_back(get(g, end->getOperand(i), returned[i]));
  OperationState state(end->getLoc(), end->getName().getStringRef());
  state.addOperands(values);
  g.b.create(state);
}

void Partitioner::operation(Operation &op, Block *to) {
  const StringRef name = op.getName().getStringRef();
  if (name == "sdy.manual_computation")
    return manual(op, to);
  if (name == "sdy.sharding_constraint" || name == "sdy.reshard") {
    Builder g = builderFor(op, to);
    parts[op.getResult(0)] = get(g, op.getOperand(0), layouts.of(op.getResult(0)));
    return;
  }
  if (name == "stablehlo.while")
    return whileLoop(op, to);
  if (name == "stablehlo.if" || name == "stablehlo.case")
    return branches(op, to);
  if (name.starts_with("sdy.") || (speaksOfDevices(&op) && !byHand))
    refuse(&op, "the operation '" + name.str() + "' speaks of single devices, and stands where the graph is not divided yet",
           "Exchanges are written inside of shard_map.");
  if (isa<graph::ConstantOp, graph::IotaOp>(op))
    return; // made where they are used
  divide(op, to);
}

void Partitioner::whileLoop(Operation &op, Block *to) {
  Builder g = builderFor(op, to);
  SmallVector<Value> begin;
  SmallVector<Layout> round;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    round.push_back(layouts.of(op.getResult(i)));
    begin.push_back(get(g, op.getOperand(i), round.back()));
  }
  OperationState state(op.getLoc(), op.getName().getStringRef(), begin, ValueRange(begin).getTypes(), op.getAttrs());
  for (unsigned r = 0; r < 2; ++r) {
    Block &from = op.getRegion(r).front();
    auto *body = new Block;
    state.addRegion()->push_back(body);
    for (const BlockArgument a : from.getArguments())
      parts[a] = body->addArgument(partType(a, layouts.of(a)), a.getLoc());
    block(from, body, r ? ArrayRef(round) : ArrayRef<Layout>({Layout()}));
  }
  Operation *loop = g.b.create(state);
  for (auto [global, part] : llvm::zip(op.getResults(), loop->getResults()))
    parts[global] = part;
}

void Partitioner::branches(Operation &op, Block *to) {
  Builder g = builderFor(op, to);
  SmallVector<Layout> returned;
  SmallVector<Type> types;
  for (const Value v : op.getResults()) {
    returned.push_back(layouts.of(v));
    types.push_back(partType(v, returned.back()));
  }
  OperationState state(op.getLoc(), op.getName().getStringRef(), {get(g, op.getOperand(0), Layout())}, types, op.getAttrs());
  for (Region &region : op.getRegions()) {
    auto *body = new Block;
    state.addRegion()->push_back(body);
    block(region.front(), body, returned);
  }
  Operation *choice = g.b.create(state);
  for (auto [global, part] : llvm::zip(op.getResults(), choice->getResults()))
    parts[global] = part;
}

// The body is written for parts already, along some axes or all of them. It stands where the computation stood.
void Partitioner::manual(Operation &op, Block *to) {
  Builder g = builderFor(op, to);
  Block &body = op.getRegion(0).front();
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    parts[body.getArgument(i)] = get(g, op.getOperand(i), layouts.entering(&op, i));
  ++byHand;
  for (Operation &inner : llvm::drop_end(body))
    operation(inner, to);
  --byHand;
  g.b.setInsertionPointToEnd(to);
  for (const auto [i, v] : llvm::enumerate(body.back().getOperands()))
    set(g, op.getResult(static_cast<unsigned>(i)), get(g, v, layouts.of(v)), layouts.leaving(&op, static_cast<unsigned>(i)));
}

// ---- other operations -------------------------------------------------------------------------------------------------------

// What one tensor wants a letter to be divided by, and how many elements want it so.
namespace {
struct Wish {
  size_t letter;
  Axes axes;
  double weight;
  size_t order;
};
} // namespace

static double elementsOf(Type type) {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? static_cast<double>(tensor.getNumElements()) : 0;
}

static Value tensorOf(Operation &op, size_t t) {
  return t < op.getNumOperands() ? op.getOperand(static_cast<unsigned>(t))
                                 : Value(op.getResult(static_cast<unsigned>(t - op.getNumOperands())));
}

static bool isMade(Value v) { // where it is used, without exchange
  return isa_and_nonnull<graph::ConstantOp, graph::IotaOp>(v.getDefiningOp());
}

// Wishes are granted one by one, those for sums first or last, otherwise those of larger tensors before others.
Assignment Partitioner::grant(Operation &op, const Rule &rule, bool sumsFirst) const {
  std::vector<Wish> wishes;
  for (size_t t = 0; t < rule.tensors.size(); ++t) {
    const Value v = tensorOf(op, t);
    const double weight = isMade(v) ? 1 : elementsOf(v.getType()) + 1;
    const Assignment own = lettersOf(rule, t, layouts.of(v), mesh);
    for (size_t l = 0; l < own.size(); ++l) {
      if (own[l].empty() || rule.letters[l].kind == Letter::Whole)
        continue;
      const auto same = llvm::find_if(wishes, [&](const Wish &w) { return w.letter == l && w.axes == own[l]; });
      if (same != wishes.end())
        same->weight += weight;
      else
        wishes.push_back({l, own[l], weight, wishes.size()});
    }
  }
  llvm::sort(wishes, [&](const Wish &a, const Wish &b) {
    const auto late = [&](const Wish &w) { return (rule.letters[w.letter].kind == Letter::Sum) != sumsFirst; };
    return std::tuple(late(a), -a.weight, a.order) < std::tuple(late(b), -b.weight, b.order);
  });
  Assignment axes(rule.letters.size());
  llvm::SmallDenseSet<int> used;
  for (const Wish &w : wishes) {
    Axes &own = axes[w.letter];
    if (w.axes.size() <= own.size() || ArrayRef(w.axes).take_front(own.size()) != ArrayRef(own))
      continue;
    for (const int axis : ArrayRef(w.axes).drop_front(own.size())) {
      if (!used.insert(axis).second)
        break;
      own.push_back(axis);
    }
  }
  settle(rule, axes, mesh);
  return axes;
}

// About how many elements a rank gets from others, and what it computes, as if 256 products were an element.
double Partitioner::costOf(Operation &op, const Rule &rule, const Assignment &axes) const {
  const auto moved = [&](Value v, const Layout &from, const Layout &to) {
    const bool onlyCut = llvm::all_of(llvm::zip(from.dims, to.dims), [](auto pair) {
      const auto &[a, b] = pair;
      return a.size() <= b.size() && ArrayRef(b).take_front(a.size()) == ArrayRef(a);
    });
    return onlyCut ? 0 : elementsOf(partType(v, to));
  };
  double cost = 0, products = 1;
  Axes sums;
  for (size_t l = 0; l < axes.size(); ++l) {
    products *= static_cast<double>(rule.letters[l].size) / static_cast<double>(mesh.sizeOf(axes[l]));
    if (rule.letters[l].kind == Letter::Sum)
      sums.append(axes[l].begin(), axes[l].end());
  }
  for (size_t t = 0; t < rule.tensors.size(); ++t) {
    const Value v = tensorOf(op, t);
    const Layout own = layoutOf(rule, t, axes, mesh), &wanted = layouts.of(v);
    if (t < op.getNumOperands()) {
      cost += isMade(v) ? 0 : moved(v, wanted, own);
      continue;
    }
    // A sum that is wanted divided along its axes is scattered, which is half of the work.
    const bool scattered = !sums.empty() && llvm::all_of(sums, [&](int a) { return wanted.uses(a); });
    if (!sums.empty())
      cost += (scattered ? 1 : 2) * elementsOf(partType(v, own));
    if (!scattered)
      cost += moved(v, own, wanted);
  }
  return cost + products / 256;
}

// What each letter is divided by.
Assignment Partitioner::choose(Operation &op, const Rule &rule) const {
  Assignment last = grant(op, rule, false);
  const auto isSum = [](const Letter &l) { return l.kind == Letter::Sum; };
  if (llvm::none_of(rule.letters, isSum))
    return last;
  Assignment first = grant(op, rule, true);
  return costOf(op, rule, first) < costOf(op, rule, last) ? first : last;
}

// Says what is gathered because the operation needs all of a dimension.
void Partitioner::warn(Operation &op, const Rule &rule, const Assignment &axes) {
  int64_t bytes = 0;
  std::string which;
  for (unsigned i = 0; i < op.getNumOperands(); ++i) {
    const auto type = dyn_cast<RankedTensorType>(op.getOperand(i).getType());
    if (!type)
      continue;
    const Assignment own = lettersOf(rule, i, layouts.of(op.getOperand(i)), mesh);
    bool gathered = false;
    for (size_t l = 0; l < own.size(); ++l)
      gathered |= rule.letters[l].kind == Letter::Whole && !own[l].empty();
    const Value v = op.getOperand(i);
    if (!gathered || isMade(v))
      continue;
    const auto part = cast<RankedTensorType>(partType(v, layoutOf(rule, i, axes, mesh)));
    const auto had = cast<RankedTensorType>(partType(v, layouts.of(v)));
    const Type e = type.getElementType();
    const auto complex = dyn_cast<ComplexType>(e);
    const int64_t size = complex ? 2 * complex.getElementType().getIntOrFloatBitWidth() / 8
                                 : (static_cast<int64_t>(e.getIntOrFloatBitWidth()) + 7) / 8;
    bytes += std::max<int64_t>(part.getNumElements() - had.getNumElements(), 0) * size;
    which += (which.empty() ? "" : ", ") + std::to_string(i);
  }
  if (which.empty())
    return;
  const std::string what = rule.known ? "needs all of a dimension that is divided"
                                      : "is computed whole on each rank: there is no rule to divide it";
  const std::string message =
      nameOf(&op) + " " + what + "; operand " + which + " is gathered, " + std::to_string(bytes) + " bytes to each rank";
  if (options.strict)
    refuse(&op, message, "Divide other dimensions of its operands, or compile without strict.");
  warnings.push_back(message);
}

void Partitioner::divide(Operation &op, Block *to) {
  const Rule rule = ruleOf(&op);
  const Assignment axes = choose(op, rule);
  warn(op, rule, axes);
  Builder g = builderFor(op, to);
  Divided d{op, rule, axes, {}};
  for (unsigned i = 0; i < op.getNumOperands(); ++i)
    d.operands.push_back(get(g, op.getOperand(i), layoutOf(rule, i, axes, mesh)));
  const StringRef name = op.getName().stripDialect();
  if (name == "reduce")
    divideReduce(g, d);
  else if (name == "gather" && !summed(d).empty())
    divideGather(g, d);
  else if (name == "scatter")
    divideScatter(g, d);
  else
    dividePlain(g, d);
}

} // namespace glia::partition
