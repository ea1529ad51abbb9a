#include "Reshard.h"

#include <map>

using namespace mlir;

namespace glia::partition {

using emit::elementOf;
using emit::GraphBuilder;
using emit::typeOf;

static RankedTensorType withSize(Value v, int64_t dim, int64_t size) {
  SmallVector<int64_t> shape(typeOf(v).getShape());
  shape[static_cast<size_t>(dim)] = size;
  return RankedTensorType::get(shape, elementOf(v));
}
static int64_t sizeAt(Value v, int64_t dim) { return typeOf(v).getDimSize(static_cast<unsigned>(dim)); }

static bool isEmpty(Value v) { return typeOf(v).getNumElements() == 0; }

// ---- collectives ------------------------------------------------------------------------------------------------------------

// `flattened`: groups are of ranks, of all replicas; else of partitions.
Operation *Exchange::collective(GraphBuilder &g, StringRef name, Value part, Type result, ArrayRef<int> axes, bool flattened,
                                ArrayRef<NamedAttribute> attributes, StringRef combiner) {
  const std::vector<std::vector<int64_t>> groups = mesh.groups(axes);
  std::vector<int64_t> table;
  const int64_t replicas = flattened ? mesh.replicas : 1;
  for (int64_t r = 0; r < replicas; ++r)
    for (const std::vector<int64_t> &group : groups)
      for (const int64_t p : group)
        table.push_back(r * mesh.partitions + p);
  const auto type =
      RankedTensorType::get({replicas * static_cast<int64_t>(groups.size()), mesh.sizeOf(axes)}, g.b.getI64Type());
  OperationState state(g.loc, ("stablehlo." + name).str(), ValueRange{part}, TypeRange{result}, attributes);
  state.addAttribute("replica_groups", DenseIntElementsAttr::get(type, table));
  state.addAttribute("channel_handle", graph::ChannelHandleAttr::get(g.b.getContext(), 1, 1));
  if (flattened)
    state.addAttribute("use_global_device_ids", g.b.getUnitAttr());
  if (!combiner.empty()) {
    const OpBuilder::InsertionGuard guard(g.b);
    const Type scalar = RankedTensorType::get({}, elementOf(part));
    Block *body = g.b.createBlock(state.addRegion(), {}, {scalar, scalar}, {g.loc, g.loc});
    OperationState end(g.loc, "stablehlo.return");
    end.addOperands(g.make(combiner, {body->getArgument(0), body->getArgument(1)}, scalar));
    g.b.create(end);
  }
  return g.b.create(state);
}

Value Exchange::gather(GraphBuilder &g, Value part, int64_t dim, ArrayRef<int> axes) {
  if (axes.empty())
    return part;
  return collective(g, "all_gather", part, withSize(part, dim, sizeAt(part, dim) * mesh.sizeOf(axes)), axes, true,
                    {g.b.getNamedAttr("all_gather_dim", g.b.getI64IntegerAttr(dim))})
      ->getResult(0);
}

Value Exchange::allReduce(GraphBuilder &g, Value part, StringRef combiner, ArrayRef<int> axes) {
  return axes.empty() ? part : collective(g, "all_reduce", part, part.getType(), axes, true, {}, combiner)->getResult(0);
}

Value Exchange::reduceScatter(GraphBuilder &g, Value part, StringRef combiner, int64_t dim, ArrayRef<int> axes) {
  return collective(g, "reduce_scatter", part, withSize(part, dim, sizeAt(part, dim) / mesh.sizeOf(axes)), axes, true,
                    {g.b.getNamedAttr("scatter_dimension", g.b.getI64IntegerAttr(dim))}, combiner)
      ->getResult(0);
}

Value Exchange::allToAll(GraphBuilder &g, Value part, int64_t split, int64_t concat, ArrayRef<int> axes) {
  const int64_t n = mesh.sizeOf(axes);
  SmallVector<int64_t> shape(typeOf(part).getShape());
  shape[static_cast<size_t>(split)] /= n;
  shape[static_cast<size_t>(concat)] *= n;
  return collective(g, "all_to_all", part, RankedTensorType::get(shape, elementOf(part)), axes, false,
                    {g.b.getNamedAttr("split_dimension", g.b.getI64IntegerAttr(split)),
                     g.b.getNamedAttr("concat_dimension", g.b.getI64IntegerAttr(concat)),
                     g.b.getNamedAttr("split_count", g.b.getI64IntegerAttr(n))})
      ->getResult(0);
}

// Both layouts have the same number of parts in each dimension. Each rank gets the part that it needs from one that has it; a part has as
// many owners before as behind, and who has it already keeps it.
Value Exchange::permute(GraphBuilder &g, Value part, const Layout &from, const Layout &to) {
  const auto which = [&](int64_t p, const Layout &layout) {
    std::vector<int64_t> index;
    for (const Axes &axes : layout.dims)
      index.push_back(mesh.indexOf(p, axes));
    return index;
  };
  std::map<std::vector<int64_t>, std::vector<int64_t>> owners;
  std::vector<int64_t> waiting, pairs;
  for (int64_t p = 0; p < mesh.partitions; ++p)
    if (which(p, from) == which(p, to)) {
      pairs.insert(pairs.end(), {p, p});
    } else {
      owners[which(p, from)].push_back(p);
      waiting.push_back(p);
    }
  for (const int64_t p : waiting) {
    std::vector<int64_t> &list = owners[which(p, to)];
    pairs.insert(pairs.end(), {list.front(), p});
    list.erase(list.begin());
  }
  const auto type = RankedTensorType::get({static_cast<int64_t>(pairs.size()) / 2, 2}, g.b.getI64Type());
  return g.make("collective_permute", {part}, part.getType(),
                {g.b.getNamedAttr("source_target_pairs", DenseIntElementsAttr::get(type, pairs)),
                 g.b.getNamedAttr("channel_handle", graph::ChannelHandleAttr::get(g.b.getContext(), 1, 1))});
}

// ---- numbers of this rank ---------------------------------------------------------------------------------------------------

Value Exchange::start(GraphBuilder &g, ArrayRef<int> axes, int64_t step, Type element) {
  std::vector<int64_t> table;
  for (int64_t p = 0; p < mesh.partitions; ++p)
    table.push_back(mesh.indexOf(p, axes) * step);
  Value found;
  for (const auto &[key, value] : tables)
    if (key == table)
      found = value;
  if (!found) {
    const OpBuilder::InsertionGuard guard(g.b);
    if (partition) {
      g.b.setInsertionPointAfterValue(partition);
    } else {
      g.b.setInsertionPointToStart(top);
      partition = g.make("partition_id", {}, RankedTensorType::get({}, g.b.getIntegerType(32, false)));
    }
    const auto type = RankedTensorType::get({mesh.partitions}, g.b.getI32Type());
    const std::vector<int32_t> narrow(table.begin(), table.end());
    const Value all = g.constant(DenseIntElementsAttr::get(type, ArrayRef(narrow)));
    const Value one = g.make("dynamic_slice", {all, partition}, RankedTensorType::get({1}, g.b.getI32Type()),
                             {g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr({1}))});
    found = g.reshape(one, {});
    tables.emplace_back(table, found);
  }
  return g.convert(found, element);
}

Value Exchange::cut(GraphBuilder &g, Value part, int64_t dim, ArrayRef<int> axes) {
  if (axes.empty())
    return part;
  const auto type = withSize(part, dim, sizeAt(part, dim) / mesh.sizeOf(axes));
  const Value zero = g.number(0, RankedTensorType::get({}, g.b.getI32Type()));
  SmallVector<Value> operands{part};
  for (int64_t d = 0; d < type.getRank(); ++d)
    operands.push_back(d == dim ? start(g, axes, type.getDimSize(static_cast<unsigned>(dim)), g.b.getI32Type()) : zero);
  return g.make("dynamic_slice", operands, type,
                {g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(type.getShape()))});
}

// ---- steps ------------------------------------------------------------------------------------------------------------------

static size_t common(ArrayRef<int> a, ArrayRef<int> b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n])
    ++n;
  return n;
}
static bool isBeginning(ArrayRef<int> a, ArrayRef<int> b) { return common(a, b) == a.size(); }

// The last axes of one dimension that are the next ones of another.
bool Exchange::moveAxes(GraphBuilder &g, Value &part, Layout &now, const Layout &to) {
  for (size_t d = 0; d < now.dims.size(); ++d)
    for (size_t e = 0; e < now.dims.size(); ++e) {
      if (d == e || isBeginning(now.dims[d], to.dims[d]) || !isBeginning(now.dims[e], to.dims[e]))
        continue;
      const ArrayRef<int> own(now.dims[d]), next = ArrayRef(to.dims[e]).drop_front(now.dims[e].size());
      for (size_t n = std::min(own.size() - common(own, to.dims[d]), next.size()); n > 0; --n)
        if (own.take_back(n) == next.take_front(n)) {
          const Axes moved(own.take_back(n));
          part = allToAll(g, part, static_cast<int64_t>(e), static_cast<int64_t>(d), moved);
          now.dims[d].truncate(own.size() - n);
          now.dims[e].append(moved.begin(), moved.end());
          return true;
        }
    }
  return false;
}

// Axes that the target has next and that nothing is divided by yet.
bool Exchange::cutNew(GraphBuilder &g, Value &part, Layout &now, const Layout &to) {
  for (size_t d = 0; d < now.dims.size(); ++d) {
    if (!isBeginning(now.dims[d], to.dims[d]))
      continue;
    Axes fresh;
    for (const int axis : ArrayRef(to.dims[d]).drop_front(now.dims[d].size())) {
      if (now.uses(axis))
        break;
      fresh.push_back(axis);
    }
    if (fresh.empty())
      continue;
    part = cut(g, part, static_cast<int64_t>(d), fresh);
    now.dims[d].append(fresh.begin(), fresh.end());
    return true;
  }
  return false;
}

Value Exchange::reshard(GraphBuilder &g, Value part, Layout now, const Layout &to) {
  if (now != to && isEmpty(part)) {
    SmallVector<int64_t> shape(typeOf(part).getShape());
    for (size_t d = 0; d < shape.size(); ++d)
      shape[d] = shape[d] * mesh.sizeOf(now.dims[d]) / mesh.sizeOf(to.dims[d]);
    return g.constant(DenseElementsAttr::getFromRawBuffer(RankedTensorType::get(shape, elementOf(part)), {}));
  }
  while (now != to) {
    if (moveAxes(g, part, now, to) || cutNew(g, part, now, to))
      continue;
    const bool alike = llvm::all_of(llvm::zip(now.dims, to.dims), [&](auto pair) {
      return mesh.sizeOf(std::get<0>(pair)) == mesh.sizeOf(std::get<1>(pair));
    });
    if (alike)
      return permute(g, part, now, to);
    for (size_t d = 0; d < now.dims.size(); ++d)
      if (const size_t keep = common(now.dims[d], to.dims[d]); keep < now.dims[d].size()) {
        const Axes gone(ArrayRef(now.dims[d]).drop_front(keep));
        part = gather(g, part, static_cast<int64_t>(d), gone);
        now.dims[d].truncate(keep);
        break;
      }
  }
  return part;
}

} // namespace glia::partition
