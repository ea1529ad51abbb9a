#include "DecomposeSort.h"
#include "BodyTrial.h"
#include "DecomposeChlo.h"

namespace glia::emit {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

struct SortOrder {
  unsigned key = 0; // which operand is compared
  bool ascending = true;
  bool equalZeros =
      false; // -0 and +0 are equal, and so are all NaN, which come last upwards (JAX); else the total order decides
};

// The comparison looks at the elements of one operand, and orders them.
std::optional<SortOrder> orderOf(graph::SortOp op) {
  mlir::Block &body = op->getRegion(0).front();
  std::optional<unsigned> key;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    if (!body.getArgument(2 * i).use_empty() || !body.getArgument(2 * i + 1).use_empty()) {
      if (key)
        return std::nullopt;
      key = i;
    }
  if (!key)
    return std::nullopt;
  Trial trial(body, true);
  const auto before = [&](double a, double b) -> std::optional<bool> {
    std::vector<double> arguments(body.getNumArguments());
    arguments[2 * *key] = a;
    arguments[2 * *key + 1] = b;
    const auto got = trial.run(arguments);
    return got ? std::optional((*got)[0] != 0) : std::nullopt;
  };
  const bool floats = llvm::isa<mlir::FloatType>(elementOf(op->getOperand(*key)));
  SortOrder order;
  order.key = *key;
  const std::optional<bool> up = before(0, 1), zeros = floats ? before(-0.0, 0.0) : false;
  if (!up || !zeros)
    return std::nullopt;
  order.ascending = *up;
  order.equalZeros = floats && !(*up ? *zeros : before(0.0, -0.0).value_or(false));
  // In this order upwards, from values that no bit tells apart.
  std::vector<std::vector<double>> classes = {{-kInfinity}, {-1}, {-0.0, 0.0}, {1}, {kInfinity}, {kNan, -kNan}};
  if (!floats)
    classes = {{0}, {1}};
  else if (!order.equalZeros)
    classes = {{-kNan}, {-kInfinity}, {-1}, {-0.0}, {0.0}, {1}, {kInfinity}, {kNan}};
  for (size_t i = 0; i < classes.size(); ++i)
    for (size_t j = 0; j < classes.size(); ++j)
      for (double a : classes[i])
        for (double b : classes[j])
          if (before(a, b) != (order.ascending ? i < j : i > j))
            return std::nullopt;
  return order;
}

// Integers whose largest come first.
mlir::Value keysOf(GraphBuilder &g, mlir::Value x, const SortOrder &order) {
  mlir::Value keys = x;
  if (llvm::isa<mlir::FloatType>(elementOf(x))) {
    if (order.equalZeros) {
      keys = g.select(g.compare(graph::ComparisonDirection::EQ, x, g.number(0, x)), g.number(0, x), x);
      keys = g.select(g.compare(graph::ComparisonDirection::NE, x, x), g.number(kNan, x), keys);
    }
    keys = orderedBits(g, keys);
    if (!keys)
      return {};
  } else if (elementOf(x).isInteger(1)) {
    keys = g.convert(x, g.b.getIntegerType(8, false));
  }
  return order.ascending ? g.unary("not", keys) : keys;
}

mlir::Value places(GraphBuilder &g, mlir::Value keys) {
  mlir::OperationState state(g.loc, "chlo.top_k");
  const llvm::ArrayRef<int64_t> shape = typeOf(keys).getShape();
  state.addOperands(keys);
  state.addTypes({keys.getType(), mlir::RankedTensorType::get(shape, g.b.getI32Type())});
  state.addAttribute("k", g.b.getI64IntegerAttr(shape.back()));
  return g.b.create(state)->getResult(1);
}

// Along the last dimension.
mlir::Value taken(GraphBuilder &g, mlir::Value x, mlir::Value at) {
  const int64_t rank = typeOf(x).getRank();
  std::vector<int64_t> batch;
  for (int64_t d = 0; d + 1 < rank; ++d)
    batch.push_back(d);
  const auto numbers =
      graph::GatherDimensionNumbersAttr::get(g.b.getContext(), {}, {rank - 1}, batch, batch, {rank - 1}, rank);
  return g.make(
      "gather", {x, at}, x.getType(),
      {g.b.getNamedAttr("dimension_numbers", numbers),
       g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(std::vector<int64_t>(static_cast<size_t>(rank), 1)))});
}

mlir::Value swapped(GraphBuilder &g, mlir::Value x, int64_t dim) { // that dimension and the last
  const int64_t last = typeOf(x).getRank() - 1;
  if (dim == last)
    return x;
  std::vector<int64_t> order, shape(typeOf(x).getShape());
  for (int64_t d = 0; d <= last; ++d)
    order.push_back(d == dim ? last : d == last ? dim : d);
  std::swap(shape[static_cast<size_t>(dim)], shape[static_cast<size_t>(last)]);
  return g.make("transpose", {x}, mlir::RankedTensorType::get(shape, elementOf(x)),
                {g.b.getNamedAttr("permutation", g.b.getDenseI64ArrayAttr(order))});
}

void write(graph::SortOp op) {
  const mlir::RankedTensorType t = typeOf(op->getOperand(0));
  const auto rank = t.getRank();
  const auto dim = static_cast<int64_t>(op.getDimension()) + (static_cast<int64_t>(op.getDimension()) < 0 ? rank : 0);
  if (rank == 0 || t.getNumElements() == 0 || t.getDimSize(static_cast<unsigned>(dim)) > kMostSorted)
    return;
  const std::optional<SortOrder> order = orderOf(op);
  if (!order)
    return;
  GraphBuilder g(op);
  const mlir::Value keys = keysOf(g, swapped(g, op->getOperand(order->key), dim), *order);
  if (!keys)
    return;
  const mlir::Value at = places(g, keys);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    op->getResult(i).replaceAllUsesWith(swapped(g, taken(g, swapped(g, op->getOperand(i), dim), at), dim));
  op->erase();
}

} // namespace

void decomposeSorts(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto sort = llvm::dyn_cast<graph::SortOp>(op))
      write(sort);
}

} // namespace glia::emit
