#include "Mesh.h"
#include "Graph/Read/Sharding.h"
#include "Graph/Read/Place.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace glia::partition {

using graph::AxisRefAttr;
using graph::MeshAttr;
using graph::MeshAxisAttr;

void refuse(Operation *at, std::string message, std::string advice) {
  throw Error("GRAPH-SHARDING", std::move(message), std::move(advice), graph::placeOf(at->getLoc()));
}

std::string nameOf(Operation *op) {
  const SourcePlace place = graph::placeOf(op->getLoc());
  const std::string name = op->getName().getStringRef().str();
  return place.file.empty() ? name : name + " at " + place.file + ":" + std::to_string(place.line);
}

// ---- the grid ---------------------------------------------------------------------------------------------------------------

static int64_t countIn(ModuleOp module, StringRef attribute) {
  const auto count = module->getAttrOfType<IntegerAttr>(attribute);
  return count ? std::max<int64_t>(count.getInt(), 1) : 1;
}

// Grids and tables have an entry for each.
static constexpr int64_t kMostPartitions = 65536;

static int64_t devicesOf(MeshAttr mesh) {
  int64_t n = 1;
  for (const MeshAxisAttr a : mesh.getAxes())
    n = std::min(n, kMostPartitions + 1) * std::clamp<int64_t>(a.getSize(), 1, kMostPartitions + 1);
  return n;
}

static void forEachSharding(Attribute a, function_ref<void(DictionaryAttr)> fn) {
  if (const auto list = dyn_cast_or_null<ArrayAttr>(a))
    for (const Attribute x : list)
      forEachSharding(x, fn);
  else if (graph::isSharding(a))
    fn(cast<DictionaryAttr>(a));
}

Mesh::Mesh(ModuleOp module)
    : partitions(countIn(module, "mhlo.num_partitions")), replicas(countIn(module, "mhlo.num_replicas")) {
  if (partitions * replicas > kMostPartitions)
    refuse(module, "a graph is for more than " + std::to_string(kMostPartitions) + " ranks", "");
  noteBoundary(partitions, module);
  const auto forEach = [&](function_ref<void(DictionaryAttr, Operation *)> fn) {
    module.walk([&](Operation *op) {
      const auto one = [&](DictionaryAttr sharding) { fn(sharding, op); };
      for (const StringRef name : {"sdy.sharding", "sharding", "in_shardings", "out_shardings"})
        forEachSharding(op->getAttr(name), one);
      if (auto f = dyn_cast<func::FuncOp>(op))
        for (const ArrayAttr lists : {f.getArgAttrsAttr(), f.getResAttrsAttr()})
          if (lists)
            for (const auto list : lists.getAsRange<DictionaryAttr>())
              forEachSharding(list.get("sdy.sharding"), one);
    });
  };
  for (Operation &op : module.getOps())
    if (const auto mesh = op.getAttrOfType<MeshAttr>("mesh"); mesh && op.getName().getStringRef() == "sdy.mesh")
      noteMesh(mesh, &op);
  forEach([&](DictionaryAttr sharding, Operation *at) {
    if (const auto mesh = sharding.getAs<MeshAttr>("mesh"))
      noteMesh(mesh, at);
  });
  forEach([&](DictionaryAttr sharding, Operation *at) { noteParts(sharding, at); });
  if (devices.empty()) {
    std::vector<int64_t> order(static_cast<size_t>(partitions));
    std::iota(order.begin(), order.end(), 0);
    setOrder(std::move(order));
  }
  std::ranges::sort(boundaries);
  for (size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] % boundaries[i - 1])
      refuse(module, "the meshes of the graph divide the same devices in ways that have no common grid",
             "Use one mesh, or meshes of which one divides the axes of the other.");
    int64_t rest = boundaries[i] / boundaries[i - 1];
    for (int64_t p = 2; rest > 1; ++p)
      for (; rest % p == 0; rest /= p)
        sizes.push_back(p);
  }
}

void Mesh::noteBoundary(int64_t product, Operation *at) {
  if (product < 1 || partitions % product)
    refuse(at, "a mesh does not have the " + std::to_string(partitions) + " devices of the module",
           "Use meshes of all devices of the program.");
  if (!llvm::is_contained(boundaries, product))
    boundaries.push_back(product);
}

void Mesh::noteMesh(MeshAttr mesh, Operation *at) {
  if (devicesOf(mesh) != partitions || levels.contains(mesh))
    return; // no axes, or refused where it is used
  std::vector<int64_t> sizes, order(static_cast<size_t>(partitions));
  for (const MeshAxisAttr a : mesh.getAxes())
    sizes.push_back(std::max<int64_t>(a.getSize(), 1));
  std::iota(order.begin(), order.end(), 0);
  if (const DenseIntElementsAttr ids = mesh.getDeviceIds()) {
    std::vector<int64_t> sorted = order;
    order.clear();
    for (const APInt &id : ids.getValues<APInt>())
      order.push_back(id.getSExtValue());
    if (!std::is_permutation(order.begin(), order.end(), sorted.begin(), sorted.end()))
      refuse(at, "the devices of a mesh are not the numbers below " + std::to_string(partitions),
             "Each device of the program is in a mesh once.");
  }
  if (devices.empty())
    setOrder(order);
  for (int64_t &device : order) // where it is on the grid
    device = position[static_cast<size_t>(device)];
  const std::optional<std::vector<Level>> found = levelsOf(sizes, order);
  if (!found)
    refuse(at, "two meshes have the devices of the program in orders that have no common grid",
           "Use the same order of devices in all meshes.");
  levels[mesh] = *found;
  for (const Level &l : *found) {
    noteBoundary(partitions / (l.stride * l.size), at);
    noteBoundary(partitions / l.stride, at);
  }
}

void Mesh::setOrder(std::vector<int64_t> order) {
  devices = std::move(order);
  position.resize(devices.size());
  for (size_t i = 0; i < devices.size(); ++i)
    position[static_cast<size_t>(devices[i])] = static_cast<int64_t>(i);
}

// Where parts of axes begin and end.
void Mesh::noteParts(DictionaryAttr sharding, Operation *at) {
  const MeshAttr mesh = meshOf(sharding.get("mesh"), at);
  const auto found = levels.find(mesh);
  if (found == levels.end())
    return;
  const auto look = [&](ArrayAttr axes) {
    for (const Attribute a : axes) {
      const auto axis = dyn_cast<AxisRefAttr>(a);
      const auto part = axis ? axis.getSubAxisInfo() : graph::SubAxisInfoAttr();
      if (!part)
        continue;
      if (std::min(part.getPreSize(), part.getSize()) < 1 || std::max(part.getPreSize(), part.getSize()) > partitions)
        refuse(at, "a sharding names a part of an axis that the axis does not have", "");
      for (const int64_t end : {part.getPreSize(), part.getPreSize() * part.getSize()}) {
        int64_t product = 1;
        for (const Level &l : found->second) {
          if (mesh.getAxes()[l.axis].getName() != axis.getName() || product >= end)
            continue;
          if (end % product == 0 && product * l.size > end && l.size % (end / product) == 0)
            noteBoundary(partitions / (l.stride * l.size) * (end / product), at);
          product *= l.size;
        }
      }
    }
  };
  for (const Attribute dim : sharding.getAs<ArrayAttr>("dims"))
    look(cast<ArrayAttr>(dim));
  if (const auto replicated = sharding.getAs<ArrayAttr>("replicated"))
    look(replicated);
}

int64_t Mesh::sizeOf(ArrayRef<int> axes) const {
  int64_t n = 1;
  for (const int a : axes)
    n *= sizes[static_cast<size_t>(a)];
  return n;
}

int64_t Mesh::indexOf(int64_t partition, ArrayRef<int> axes) const {
  std::vector<int64_t> at(sizes.size());
  int64_t rest = position[static_cast<size_t>(partition)];
  for (size_t i = sizes.size(); i-- > 0; rest /= sizes[i])
    at[i] = rest % sizes[i];
  int64_t index = 0;
  for (const int a : axes)
    index = index * sizes[static_cast<size_t>(a)] + at[static_cast<size_t>(a)];
  return index;
}

std::vector<std::vector<int64_t>> Mesh::groups(ArrayRef<int> axes) const {
  Axes others;
  for (int a = 0; a < static_cast<int>(sizes.size()); ++a)
    if (!llvm::is_contained(axes, a))
      others.push_back(a);
  std::vector<std::vector<int64_t>> all(static_cast<size_t>(sizeOf(others)),
                                        std::vector<int64_t>(static_cast<size_t>(sizeOf(axes))));
  for (int64_t p = 0; p < partitions; ++p)
    all[static_cast<size_t>(indexOf(p, others))][static_cast<size_t>(indexOf(p, axes))] = p;
  return all;
}

// ---- shardings --------------------------------------------------------------------------------------------------------------

MeshAttr Mesh::meshOf(Attribute reference, Operation *at) const {
  MeshAttr mesh = dyn_cast_or_null<MeshAttr>(reference);
  if (const auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(reference))
    mesh = graph::findMesh(at, symbol.getValue());
  if (!mesh)
    refuse(at, "a sharding names a mesh that the module does not have", "Define it with sdy.mesh.");
  return mesh;
}

Axes Mesh::between(int64_t before, int64_t behind) const {
  Axes axes;
  int64_t product = 1;
  for (size_t a = 0; a < sizes.size(); ++a) {
    if (product >= before && product < behind)
      axes.push_back(static_cast<int>(a));
    product *= sizes[a];
  }
  return axes;
}

Axes Mesh::axesOf(const std::vector<Level> &mesh, size_t axis) const {
  Axes all;
  for (const Level &l : mesh)
    if (l.axis == axis) {
      const Axes own = between(partitions / (l.stride * l.size), partitions / l.stride);
      all.append(own.begin(), own.end());
    }
  return all;
}

Axes Mesh::axesOf(MeshAttr mesh, AxisRefAttr axis, Operation *at) const {
  if (devicesOf(mesh) != partitions)
    refuse(at,
           "a sharding is on a mesh of " + std::to_string(devicesOf(mesh)) + " devices, and the module has " +
               std::to_string(partitions) + " partitions",
           "Use meshes of all devices of the program.");
  const auto found = levels.find(mesh);
  for (size_t k = 0; k < mesh.getAxes().size(); ++k) {
    if (mesh.getAxes()[k].getName() != axis.getName() || found == levels.end())
      continue;
    const Axes all = axesOf(found->second, k);
    Axes some;
    const auto part = axis.getSubAxisInfo();
    if (!part)
      return all;
    int64_t product = 1;
    for (const int a : all) {
      if (product >= part.getPreSize() && product < part.getPreSize() * part.getSize())
        some.push_back(a);
      product *= sizes[static_cast<size_t>(a)];
    }
    if (sizeOf(some) != part.getSize())
      refuse(at, "a sharding names a part of an axis that the axis does not have", "");
    return some;
  }
  refuse(at, "a sharding names the axis \"" + axis.getName().str() + "\", which its mesh does not have", "");
}

Axes Mesh::named(Attribute reference, ArrayAttr names, Operation *at) const {
  const MeshAttr mesh = meshOf(reference, at);
  Axes all;
  for (const Attribute n : names) {
    const auto name = dyn_cast<StringAttr>(n);
    const Axes axes = name ? axesOf(mesh, AxisRefAttr::get(n.getContext(), name.getValue(), {}), at) : Axes();
    all.append(axes.begin(), axes.end());
  }
  return all;
}

Sharding Mesh::read(Attribute attribute, Type type, Operation *at) const {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  if (!graph::isSharding(attribute) || !tensor)
    refuse(at, "a sharding of an unknown form", "");
  const auto sharding = cast<DictionaryAttr>(attribute);
  const auto dims = sharding.getAs<ArrayAttr>("dims");
  const MeshAttr mesh = meshOf(sharding.get("mesh"), at);
  if (mesh.getAxes().empty() && mesh.getDeviceIds() && partitions > 1)
    refuse(at, "a value is placed on one device of several",
           "Let it be divided among the devices, or copied to all of them.");
  if (static_cast<int64_t>(dims.size()) != tensor.getRank())
    refuse(at,
           "a sharding has " + std::to_string(dims.size()) + " dimensions, and its tensor " +
               std::to_string(tensor.getRank()),
           "");
  if (const auto unreduced = sharding.getAs<ArrayAttr>("unreduced"))
    refuse(at, "a value that is not reduced yet (`unreduced` in a sharding) is not supported",
           "Reduce it where it is computed.");
  Sharding s{Layout::whole(tensor.getRank()), {}, {}};
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t rest = tensor.getDimSize(static_cast<unsigned>(d));
    bool open = false, fits = true;
    for (const Attribute a : cast<ArrayAttr>(dims[d])) {
      const auto axis = dyn_cast<AxisRefAttr>(a);
      open |= !axis;
      if (!axis)
        continue;
      for (const int x : axesOf(mesh, axis, at)) {
        if (s.layout.uses(x))
          refuse(at, "a sharding uses the axis \"" + axis.getName().str() + "\" twice", "");
        fits = fits && rest % sizes[static_cast<size_t>(x)] == 0;
        if (!fits)
          continue;
        rest /= sizes[static_cast<size_t>(x)];
        s.layout.dims[d].push_back(x);
      }
    }
    s.open.push_back(open);
  }
  if (const auto replicated = sharding.getAs<ArrayAttr>("replicated"))
    for (const auto axis : replicated.getAsRange<AxisRefAttr>())
      s.replicated.append(axesOf(mesh, axis, at));
  return s;
}

// Of several meshes the one that keeps most.
Layout Mesh::inWholeAxes(const Layout &layout, ArrayRef<bool> dims) const {
  Layout best = layout;
  int64_t most = 0;
  for (const auto &[mesh, own] : levels) {
    std::vector<Axes> whole;
    for (size_t k = 0; k < cast<MeshAttr>(mesh).getAxes().size(); ++k)
      whole.push_back(axesOf(own, k));
    Layout cut = layout;
    int64_t parts = 1;
    for (size_t d = 0; d < cut.dims.size(); ++d) {
      ArrayRef<int> rest(layout.dims[d]);
      const auto begins = [&](const Axes &a) { return !a.empty() && rest.take_front(a.size()) == ArrayRef(a); };
      for (auto it = llvm::find_if(whole, begins); it != whole.end(); it = llvm::find_if(whole, begins))
        rest = rest.drop_front(it->size());
      if (dims[d])
        cut.dims[d].truncate(layout.dims[d].size() - rest.size());
      parts *= sizeOf(cut.dims[d]);
    }
    if (parts > most) {
      most = parts;
      best = cut;
    }
  }
  return best;
}

SmallVector<int64_t> Mesh::localShape(ArrayRef<int64_t> global, const Layout &layout) const {
  SmallVector<int64_t> shape(global);
  for (size_t d = 0; d < shape.size() && d < layout.dims.size(); ++d)
    shape[d] /= sizeOf(layout.dims[d]);
  return shape;
}

Type Mesh::localType(Type type, const Layout &layout) const {
  const auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? RankedTensorType::get(localShape(tensor.getShape(), layout), tensor.getElementType(), tensor.getEncoding())
                : type;
}

// {devices=[4,1,2]<=[8] last_tile_dim_replicate}: the parts per dimension, then the copies; the devices in their order.
std::string Mesh::hlo(const Layout &layout) const {
  if (layout.isWhole())
    return "{replicated}";
  Axes order, copies;
  std::string tiles;
  for (const Axes &axes : layout.dims) {
    order.append(axes.begin(), axes.end());
    tiles += (tiles.empty() ? "" : ",") + std::to_string(sizeOf(axes));
  }
  for (int a = 0; a < static_cast<int>(sizes.size()); ++a)
    if (!layout.uses(a))
      copies.push_back(a);
  order.append(copies.begin(), copies.end());
  if (sizeOf(copies) > 1)
    tiles += "," + std::to_string(sizeOf(copies));
  std::vector<int64_t> list(static_cast<size_t>(partitions));
  bool inOrder = true, plain = true;
  for (int64_t p = 0; p < partitions; ++p)
    list[static_cast<size_t>(indexOf(p, order))] = p;
  for (int64_t i = 0; i < partitions; ++i) {
    inOrder = inOrder && list[static_cast<size_t>(i)] == i;
    plain = plain && devices[static_cast<size_t>(i)] == i;
  }
  std::string text;
  if (inOrder) {
    text = "<=[" + std::to_string(partitions) + "]";
  } else if (plain) { // neighbours that stay neighbours are one
    std::vector<Axes> runs;
    for (const int a : order)
      if (!runs.empty() && runs.back().back() + 1 == a)
        runs.back().push_back(a);
      else
        runs.push_back({a});
    std::vector<size_t> sorted(runs.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::ranges::sort(sorted, {}, [&](size_t r) { return runs[r].front(); });
    std::string turned;
    text = "<=[";
    for (size_t i = 0; i < sorted.size(); ++i)
      text += (i ? "," : "") + std::to_string(sizeOf(runs[sorted[i]]));
    for (size_t r = 0; r < runs.size(); ++r)
      turned += (r ? "," : "") + std::to_string(std::ranges::find(sorted, r) - sorted.begin());
    text += "]T(" + turned + ")";
  } else {
    for (size_t i = 0; i < list.size(); ++i)
      text += (i ? "," : "") + std::to_string(list[i]);
  }
  return "{devices=[" + tiles + "]" + text + (sizeOf(copies) > 1 ? " last_tile_dim_replicate}" : "}");
}

} // namespace glia::partition
