#include "StringShardings.h"
#include "Graph/Read/Sharding.h"
#include "Levels.h"
#include "Mesh.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace glia::partition {

namespace {

// The devices of each part: tiles[d] parts along dimension d; behind the dimensions of the tensor are copies.
struct Tiles {
  std::vector<int64_t> tiles, devices;
  size_t copies = 0; // how many of the tiles are copies
};

class Reader {
public:
  Reader(StringRef text, Operation *at) : rest(text), all(text), at(at) {}

  std::optional<Tiles> read(); // nothing if every device has all of it

private:
  [[noreturn]] void fail() {
    refuse(at, "the sharding \"" + all.str() + "\" is not understood", "It says {replicated} or {devices=[...]...}.");
  }
  bool take(StringRef word) {
    rest = rest.ltrim();
    return rest.consume_front(word);
  }
  int64_t number() {
    int64_t n;
    rest = rest.ltrim();
    if (rest.consumeInteger(10, n) || n < 0 || n > 65536)
      fail();
    return n;
  }
  std::vector<int64_t> numbers(StringRef end) {
    std::vector<int64_t> list{number()};
    while (take(","))
      list.push_back(number());
    if (!end.empty() && !take(end))
      fail();
    return list;
  }
  StringRef rest, all;
  Operation *at;
};

int64_t productOf(ArrayRef<int64_t> list) {
  int64_t n = 1;
  for (const int64_t x : list)
    n = std::min<int64_t>(n, 65537) * x;
  return n;
}

// iota(product of sizes).reshape(sizes).transpose(order), flat.
std::vector<int64_t> transposed(ArrayRef<int64_t> sizes, ArrayRef<int64_t> order) {
  std::vector<int64_t> strides(sizes.size(), 1), list(static_cast<size_t>(productOf(sizes)));
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  for (size_t n = 0; n < list.size(); ++n) {
    auto left = static_cast<int64_t>(n);
    for (size_t i = order.size(); i-- > 0;) {
      const auto d = static_cast<size_t>(order[i]);
      list[n] += left % sizes[d] * strides[d];
      left /= sizes[d];
    }
  }
  return list;
}

std::optional<Tiles> Reader::read() {
  if (!take("{"))
    fail();
  if (take("replicated")) {
    if (!take("}") || !rest.empty())
      fail();
    return std::nullopt;
  }
  if (take("maximal"))
    refuse(at, "a value is placed on one device of several",
           "Let it be divided among the devices, or copied to all of them.");
  if (!take("devices=["))
    fail();
  Tiles t;
  t.tiles = numbers("]");
  if (take("<=[")) {
    const std::vector<int64_t> sizes = numbers("]");
    std::vector<int64_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<int64_t> sorted = order;
    if (take("T("))
      order = numbers(")");
    if (!std::is_permutation(order.begin(), order.end(), sorted.begin(), sorted.end()) || productOf(sizes) > 65536)
      fail();
    t.devices = transposed(sizes, order);
  } else {
    t.devices = numbers("");
  }
  if (take("last_tile_dim_replicate")) {
    t.copies = 1;
  } else if (take("last_tile_dims={")) {
    do {
      if (!take("replicated"))
        refuse(at, "the sharding \"" + all.str() + "\" is for parts that are written by hand",
               "Use shard_map of JAX with Shardy.");
      ++t.copies;
    } while (take(","));
    if (!take("}"))
      fail();
  }
  if (!take("}") || !rest.empty() || productOf(t.tiles) != static_cast<int64_t>(t.devices.size()) || t.devices.empty() ||
      t.copies >= t.tiles.size())
    fail();
  return t;
}

// As Sharding.h (lib/Graph/Read) says it, on a mesh of its own.
Attribute shardingOf(StringRef text, Type type, Operation *at, ArrayRef<int64_t> open) {
  MLIRContext *context = at->getContext();
  const std::optional<Tiles> t = Reader(text, at).read();
  const auto rank = static_cast<size_t>(cast<RankedTensorType>(type).getRank());
  if (t && t->tiles.size() - t->copies != rank)
    refuse(at, "the sharding \"" + text.str() + "\" has another number of dimensions than its tensor", "");
  std::vector<Level> levels;
  if (t) {
    const std::optional<std::vector<Level>> found = levelsOf(t->tiles, t->devices);
    if (!found)
      refuse(at, "the devices of the sharding \"" + text.str() + "\" lie on no grid", "Use a mesh of devices.");
    levels = *found;
  }
  std::vector<size_t> order(levels.size()); // the major axis of the mesh first
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](size_t a, size_t b) { return levels[a].stride > levels[b].stride; });
  SmallVector<graph::MeshAxisAttr> axes;
  std::vector<std::string> names(levels.size());
  for (const auto [n, i] : llvm::enumerate(order)) {
    names[i] = "d" + std::to_string(n);
    axes.push_back(graph::MeshAxisAttr::get(context, names[i], levels[i].size));
  }
  std::vector<SmallVector<Attribute>> dims(rank);
  for (size_t i = 0; i < levels.size(); ++i)
    if (levels[i].axis < rank)
      dims[levels[i].axis].push_back(graph::AxisRefAttr::get(context, names[i], {}));
  SmallVector<Attribute> lists;
  for (size_t d = 0; d < rank; ++d) {
    if (llvm::is_contained(open, static_cast<int64_t>(d)))
      dims[d].push_back(UnitAttr::get(context));
    lists.push_back(ArrayAttr::get(context, dims[d]));
  }
  return graph::shardingAttribute(graph::meshAttribute(context, axes, {}), ArrayAttr::get(context, lists), {}, {});
}

// backend_config = "unspecified_dims=[0,1]"
SmallVector<int64_t> openDims(graph::CustomCallOp call) {
  SmallVector<int64_t> open;
  const auto config = dyn_cast_or_null<StringAttr>(call.getBackendConfigAttr());
  StringRef text = config ? config.getValue() : StringRef();
  if (!text.consume_front("unspecified_dims=["))
    return open;
  SmallVector<StringRef> words;
  text.split(']').first.split(words, ',');
  for (const StringRef w : words)
    if (int64_t d; !w.trim().getAsInteger(10, d))
      open.push_back(d);
  return open;
}

void convertLists(func::FuncOp f) {
  const StringAttr older = StringAttr::get(f.getContext(), "mhlo.sharding");
  for (unsigned i = 0; i < f.getNumArguments(); ++i)
    if (const auto text = f.getArgAttrOfType<StringAttr>(i, older); text && isa<RankedTensorType>(f.getArgumentTypes()[i])) {
      f.setArgAttr(i, "sdy.sharding", shardingOf(text.getValue(), f.getArgumentTypes()[i], f, {}));
      f.removeArgAttr(i, older);
    }
  for (unsigned i = 0; i < f.getNumResults(); ++i)
    if (const auto text = f.getResultAttrOfType<StringAttr>(i, older);
        text && isa<RankedTensorType>(f.getResultTypes()[i])) {
      f.setResultAttr(i, "sdy.sharding", shardingOf(text.getValue(), f.getResultTypes()[i], f, {}));
      f.removeResultAttr(i, older);
    }
}

} // namespace

void readStringShardings(ModuleOp module) {
  module.walk([](Operation *op) {
    if (auto f = dyn_cast<func::FuncOp>(op))
      return convertLists(f);
    auto call = dyn_cast<graph::CustomCallOp>(op);
    if (!call)
      return;
    const StringRef target = call.getCallTargetName();
    if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape")
      refuse(op, "parts that are written by hand in the form before Shardy (@" + target.str() + ") are not supported",
             "In JAX, keep jax_use_shardy_partitioner on.");
    const auto text = op->getAttrOfType<StringAttr>("mhlo.sharding");
    if (target != "Sharding" || !text || op->getNumOperands() != 1 || op->getOperandTypes() != op->getResultTypes() ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    OperationState state(op->getLoc(), "sdy.sharding_constraint", op->getOperands(), op->getResultTypes(), {});
    state.addAttribute("sharding", shardingOf(text.getValue(), op->getResult(0).getType(), op, openDims(call)));
    OpBuilder b(op);
    op->replaceAllUsesWith(b.create(state));
    op->erase();
  });
}

} // namespace glia::partition
