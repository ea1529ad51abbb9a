// One operation on parts of its operands.
#include "Partitioner.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace glia::partition {

using emit::elementOf;
using emit::typeOf;

Axes Partitioner::summed(const Divided &d) const {
  Axes all;
  for (size_t l = 0; l < d.axes.size(); ++l)
    if (d.rule.letters[l].kind == Letter::Sum)
      all.append(d.axes[l].begin(), d.axes[l].end());
  llvm::sort(all);
  return all;
}

// Scalar bodies; values from around them are whole.
void Partitioner::copyRegions(Builder &g, Operation &from, OperationState &to) {
  IRMapping map;
  for (Region &region : from.getRegions())
    region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (!map.contains(v) && !from.isAncestor(v.getParentBlock()->getParentOp()))
          map.map(v, get(g, v, Layout::whole(rankOf(v.getType()))));
    });
  for (Region &region : from.getRegions())
    region.cloneInto(to.addRegion(), map);
}

// Attributes that say sizes say those of the parts.
static void fitAttributes(Operation *op, Operation &whole) {
  OpBuilder b(op->getContext());
  const auto shapeOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getShape(); };
  if (auto slice = dyn_cast<graph::SliceOp>(op)) {
    SmallVector<int64_t> limit(slice.getLimitIndices());
    const ArrayRef<int64_t> part = shapeOf(op->getOperand(0)), all = shapeOf(whole.getOperand(0));
    for (size_t d = 0; d < limit.size(); ++d)
      limit[d] = part[d] != all[d] ? part[d] : limit[d];
    slice.setLimitIndicesAttr(b.getDenseI64ArrayAttr(limit));
  } else if (auto dynamic = dyn_cast<graph::DynamicSliceOp>(op)) {
    dynamic.setSliceSizesAttr(b.getDenseI64ArrayAttr(shapeOf(op->getResult(0))));
  } else if (auto gather = dyn_cast<graph::GatherOp>(op)) {
    SmallVector<int64_t> sizes(gather.getSliceSizes());
    const ArrayRef<int64_t> part = shapeOf(op->getOperand(0));
    for (size_t d = 0; d < sizes.size(); ++d)
      sizes[d] = std::min(sizes[d], part[d]);
    gather.setSliceSizesAttr(b.getDenseI64ArrayAttr(sizes));
  }
}

Operation *Partitioner::copy(Builder &g, const Divided &d, ArrayRef<Type> types) {
  OperationState state(d.op.getLoc(), d.op.getName(), d.operands, types, d.op.getAttrs());
  copyRegions(g, d.op, state);
  Operation *made = g.b.create(state);
  fitAttributes(made, d.op);
  return made;
}

// Axes of a sum that the result is wanted to be divided by next: the sum is scattered along them.
Value Partitioner::combine(Builder &g, Value part, StringRef combiner, Axes axes, Layout &now, const Layout &wanted) {
  if (typeOf(part).getNumElements() == 0)
    return part;
  for (size_t d = 0; d < now.dims.size(); ++d) {
    const ArrayRef<int> have(now.dims[d]), want(wanted.dims[d]);
    if (want.size() <= have.size() || want.take_front(have.size()) != have)
      continue;
    Axes next;
    for (const int axis : want.drop_front(have.size())) {
      if (!llvm::is_contained(axes, axis))
        break;
      next.push_back(axis);
    }
    if (next.empty())
      continue;
    part = exchange.reduceScatter(g, part, combiner, static_cast<int64_t>(d), next);
    llvm::erase_if(axes, [&](int a) { return llvm::is_contained(next, a); });
    now.dims[d].append(next.begin(), next.end());
  }
  return exchange.allReduce(g, part, combiner, axes);
}

static StringRef adderOf(Type element) { return element.isInteger(1) ? "or" : "add"; }

void Partitioner::dividePlain(Builder &g, const Divided &d) {
  SmallVector<Type> types;
  for (const auto [i, v] : llvm::enumerate(d.op.getResults()))
    types.push_back(partType(v, resultLayout(d, static_cast<unsigned>(i))));
  Operation *made = copy(g, d, types);
  const Axes sum = summed(d);
  for (const auto [i, v] : llvm::enumerate(d.op.getResults())) {
    Layout now = resultLayout(d, static_cast<unsigned>(i));
    Value part = made->getResult(static_cast<unsigned>(i));
    if (!sum.empty())
      part = combine(g, part, adderOf(elementOf(part)), sum, now, layouts.of(v));
    set(g, v, part, now);
  }
}

// ---- reductions -------------------------------------------------------------------------------------------------------------

static bool isConstant(Value v, TypedAttr value) {
  auto constant = v.getDefiningOp<graph::ConstantOp>();
  const auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat || !value)
    return false;
  if (const auto f = dyn_cast<FloatAttr>(value)) // -0 begins a sum as well as 0 does
    return splat.getSplatValue<APFloat>().bitwiseIsEqual(f.getValue()) ||
           (f.getValue().isZero() && splat.getSplatValue<APFloat>().isZero());
  return splat.getSplatValue<APInt>() == cast<IntegerAttr>(value).getValue();
}

// Each rank reduces its part. What the ranks have is then put together by a collective, or, where the body is more than one operation,
// gathered and reduced once more.
void Partitioner::divideReduce(Builder &g, const Divided &d) {
  const Axes sum = summed(d);
  if (sum.empty())
    return dividePlain(g, d);
  const size_t arrays = d.op.getNumResults();
  Region &body = d.op.getRegion(0);
  const Type element = elementOf(d.op.getResult(0));
  const StringRef combiner = arrays == 1 ? combinerOf(body) : StringRef();
  const TypedAttr identity = combiner.empty() ? TypedAttr() : identityOf(combiner, element);
  Divided local = d;
  const Value init = d.op.getOperand(static_cast<unsigned>(arrays));
  const bool plainStart = isConstant(init, identity);
  if (identity && !plainStart)
    local.operands[arrays] = g.constant(DenseElementsAttr::get(RankedTensorType::get({}, element), Attribute(identity)));
  SmallVector<Type> types;
  for (const auto [i, v] : llvm::enumerate(d.op.getResults()))
    types.push_back(partType(v, resultLayout(d, static_cast<unsigned>(i))));
  Operation *made = copy(g, local, types);
  if (identity) {
    Layout now = resultLayout(d, 0);
    Value part = combine(g, made->getResult(0), combiner, sum, now, layouts.of(d.op.getResult(0)));
    if (!plainStart)
      part = g.binary(combiner, part, g.broadcast(d.operands[arrays], {}, typeOf(part)));
    set(g, d.op.getResult(0), part, now);
    return;
  }
  Divided again{d.op, d.rule, d.axes, {}};
  for (const Value v : made->getResults()) {
    SmallVector<int64_t> shape{1};
    shape.append(typeOf(v).getShape().begin(), typeOf(v).getShape().end());
    again.operands.push_back(exchange.gather(g, g.reshape(v, shape), 0, sum));
  }
  for (size_t k = 0; k < arrays; ++k)
    again.operands.push_back(d.operands[arrays + k]);
  Operation *whole = copy(g, again, types);
  cast<graph::ReduceOp>(whole).setDimensionsAttr(g.b.getDenseI64ArrayAttr({0}));
  for (const auto [i, v] : llvm::enumerate(d.op.getResults()))
    set(g, v, whole->getResult(static_cast<unsigned>(i)), resultLayout(d, static_cast<unsigned>(i)));
}

// ---- gather and scatter -----------------------------------------------------------------------------------------------------

// Indices of rows as numbers in the part of a table that this rank has. `vectorDim` is the dimension of the index vectors, the rank of the
// indices if each is one number; rowDims[k] is the dimension of the table that component k counts.
Value Partitioner::shiftIndices(Builder &g, Value indices, int64_t vectorDim, ArrayRef<int64_t> rowDims,
                                function_ref<const Axes &(int64_t)> axesOf, function_ref<int64_t(int64_t)> partSize) {
  const RankedTensorType type = typeOf(indices);
  const Type element = type.getElementType();
  const auto scalar = [&](int64_t dim) -> Value {
    const Axes &axes = axesOf(dim);
    return axes.empty() ? g.number(0, RankedTensorType::get({}, element)) : exchange.start(g, axes, partSize(dim), element);
  };
  Value first;
  if (vectorDim >= type.getRank()) {
    first = g.broadcast(scalar(rowDims[0]), {}, type);
  } else {
    SmallVector<Value> components;
    for (const int64_t dim : rowDims)
      components.push_back(g.reshape(scalar(dim), {1}));
    first = g.broadcast(g.concatenate(components, 0), {vectorDim}, type);
  }
  return g.subtract(indices, first);
}

void Partitioner::divideGather(Builder &g, const Divided &d) {
  auto op = cast<graph::GatherOp>(d.op);
  const graph::GatherDimensionNumbersAttr n = op.getDimensionNumbers();
  const auto table = cast<RankedTensorType>(d.op.getOperand(0).getType());
  const Layout tableLayout = layoutOf(d.rule, 0, d.axes, mesh);
  const RankedTensorType part = typeOf(d.operands[0]);
  Value indices = d.operands[1];
  if (const auto i = dyn_cast<IntegerType>(elementOf(indices)); !i || i.getWidth() < 32)
    indices = g.convert(indices, g.b.getI32Type()); // so that every row has a number
  const Type element = elementOf(indices);
  const int64_t vectorDim = n.getIndexVectorDim();
  const bool vectors = vectorDim < typeOf(indices).getRank();
  const ArrayRef<int64_t> rows = n.getStartIndexMap();
  // Where a number counts rows of a dimension that is divided, it is first brought into the table, as the operation does it.
  const auto axesOf = [&](int64_t dim) -> const Axes & { return tableLayout.dims[static_cast<size_t>(dim)]; };
  const auto partSize = [&](int64_t dim) { return part.getDimSize(static_cast<unsigned>(dim)); };
  const auto perComponent = [&](function_ref<int64_t(int64_t)> value) {
    std::vector<APInt> numbers;
    for (const int64_t dim : rows)
      numbers.emplace_back(cast<IntegerType>(element).getWidth(), static_cast<uint64_t>(value(dim)), false, true);
    if (!vectors)
      return g.constant(DenseElementsAttr::get(typeOf(indices), numbers[0]));
    const auto type = RankedTensorType::get({static_cast<int64_t>(numbers.size())}, element);
    return g.broadcast(g.constant(DenseElementsAttr::get(type, numbers)), {vectorDim}, typeOf(indices));
  };
  const Value zero = g.number(0, indices);
  const Value last = perComponent([&](int64_t dim) {
    return table.getDimSize(static_cast<unsigned>(dim)) - op.getSliceSizes()[static_cast<size_t>(dim)];
  });
  indices = g.make("clamp", {zero, indices, last}, indices.getType());
  const Value own = shiftIndices(g, indices, vectorDim, rows, axesOf, partSize);
  // Inside, if no component that counts divided rows is outside.
  const Value end = perComponent(
      [&](int64_t dim) { return axesOf(dim).empty() ? table.getDimSize(static_cast<unsigned>(dim)) : partSize(dim); });
  using graph::ComparisonDirection;
  Value inside =
      g.binary("and", g.compare(ComparisonDirection::GE, own, zero), g.compare(ComparisonDirection::LT, own, end));
  if (vectors) {
    const Value yes = g.number(1, RankedTensorType::get({}, g.b.getI1Type()));
    inside = g.reduce("and", inside, yes, {vectorDim});
  }
  Divided local = d;
  local.operands[1] = own;
  Layout now = resultLayout(d, 0);
  const auto type = cast<RankedTensorType>(partType(d.op.getResult(0), now));
  const Value rowsHere = copy(g, local, {Type(type)})->getResult(0);
  SmallVector<int64_t> batch;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (!llvm::is_contained(n.getOffsetDims(), i))
      batch.push_back(i);
  const Value where = g.broadcast(inside, batch, RankedTensorType::get(type.getShape(), g.b.getI1Type()));
  const Value masked = g.select(where, rowsHere, g.number(0, type));
  set(g, d.op.getResult(0),
      combine(g, masked, adderOf(type.getElementType()), summed(d), now, layouts.of(d.op.getResult(0))), now);
}

// Indices of rows that another rank has are outside of the part, and their updates are left out.
void Partitioner::divideScatter(Builder &g, const Divided &d) {
  auto op = cast<graph::ScatterOp>(d.op);
  const graph::ScatterDimensionNumbersAttr n = op.getScatterDimensionNumbers();
  Divided local = d;
  const Layout layout = layoutOf(d.rule, 0, d.axes, mesh);
  const ArrayRef<int64_t> rows = n.getScatterDimsToOperandDims();
  const auto divided = [&](int64_t dim) { return !layout.dims[static_cast<size_t>(dim)].empty(); };
  if (llvm::any_of(rows, divided)) {
    if (const auto i = dyn_cast<IntegerType>(elementOf(local.operands[1])); !i || i.getWidth() < 32)
      local.operands[1] = g.convert(local.operands[1], g.b.getI32Type());
    local.operands[1] = shiftIndices(
        g, local.operands[1], n.getIndexVectorDim(), rows,
        [&](int64_t dim) -> const Axes & { return layout.dims[static_cast<size_t>(dim)]; },
        [&](int64_t dim) { return typeOf(d.operands[0]).getDimSize(static_cast<unsigned>(dim)); });
  }
  const Axes sum = summed(d);
  if (sum.empty())
    return dividePlain(g, local);
  const StringRef combiner = combinerOf(op.getUpdateComputation());
  const RankedTensorType type = typeOf(d.operands[0]);
  const TypedAttr identity = identityOf(combiner, type.getElementType());
  local.operands[0] = g.constant(DenseElementsAttr::get(type, Attribute(identity)));
  Layout now = resultLayout(d, 0);
  const Layout before = now;
  Value part = copy(g, local, {Type(type)})->getResult(0);
  part = combine(g, part, combiner, sum, now, layouts.of(d.op.getResult(0)));
  if (!isConstant(d.op.getOperand(0), identity))
    part = g.binary(combiner, exchange.reshard(g, d.operands[0], before, now), part);
  set(g, d.op.getResult(0), part, now);
}

} // namespace glia::partition
