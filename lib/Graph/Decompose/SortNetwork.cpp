#include "SortNetwork.h"
#include "glia/Lower/Family.h"

#include <bit>

namespace glia::emit {

namespace {

using graph::ComparisonDirection;
using Value = mlir::Value;

// A place along `dim`, as the user has it beside the keys for an argsort.
bool isPlace(Value v, int64_t dim) {
  mlir::Operation *op = v.getDefiningOp();
  const auto element = llvm::dyn_cast<mlir::IntegerType>(elementOf(v));
  return op && element && element.getWidth() >= 32 && opName(op) == "iota" &&
         op->getAttrOfType<mlir::IntegerAttr>("iota_dimension").getInt() == dim;
}

class Network {
public:
  Network(GraphBuilder &g, const NetworkOrder &order, int64_t rows, int64_t n)
      : g(g), order(order), rows(rows), n(n), padded(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n)))) {}

  // Operands of [rows, n]. `place` is the number of the one that says where its elements are, or their count if none does.
  llvm::SmallVector<Value> run(mlir::ValueRange operands, size_t place) {
    count = operands.size();
    where = order.last ? count : place;
    places = hidden(g.iota(shaped(where < count ? elementOf(operands[where]) : g.b.getI32Type()), 1));
    for (size_t i = 0; i < count; ++i)
      now.push_back(i == where ? places : widened(operands[i]));
    if (!order.last && where == count)
      now.push_back(places);
    const int steps = std::countr_zero(static_cast<uint64_t>(padded));
    for (int merge = 1; merge <= steps; ++merge)
      for (int distance = merge - 1; distance >= 0; --distance)
        step(distance, merge);
    llvm::SmallVector<Value> out;
    for (size_t i = 0; i < count; ++i)
      out.push_back(cut(now[i]));
    return out;
  }

private:
  GraphBuilder &g;
  const NetworkOrder &order;
  int64_t rows, n, padded;
  size_t count = 0, where = 0;
  Value places;
  llvm::SmallVector<Value> now; // the operands, and places where no operand holds them

  mlir::RankedTensorType shaped(mlir::Type element) const { return mlir::RankedTensorType::get({rows, padded}, element); }
  // What differs between steps is no part of their code.
  Value hidden(Value x) { return g.unary("optimization_barrier", x); }

  Value widened(Value x) {
    if (n == padded)
      return x;
    const auto scalar = mlir::RankedTensorType::get({}, elementOf(x));
    return g.pad(x, order.last ? g.constant(order.last) : g.number(0, scalar), {0, 0}, {0, padded - n});
  }
  Value cut(Value x) { return n == padded ? x : g.slice(x, {0, 0}, {rows, n}); }

  Value bitOfPlace(int bit) {
    const Value one =
        hidden(g.number(static_cast<double>(int64_t{1} << bit), mlir::RankedTensorType::get({}, elementOf(places))));
    const Value set = g.binary("and", places, g.broadcast(one, {}, typeOf(places)));
    return g.compare(ComparisonDirection::NE, set, g.number(0, set));
  }

  Value partner(Value x, int distance) {
    const int64_t size = int64_t{1} << distance;
    const Value pairs = g.reshape(x, {rows, padded / (2 * size), 2, size});
    const Value turned =
        g.make("reverse", {pairs}, pairs.getType(), {g.b.getNamedAttr("dimensions", g.b.getDenseI64ArrayAttr({2}))});
    return g.reshape(turned, {rows, padded});
  }

  // The partner comes before the element itself.
  Value isBefore(llvm::ArrayRef<Value> theirs) {
    const mlir::ValueRange a(theirs.take_front(count)), b(llvm::ArrayRef(now).take_front(count));
    const Value first = order.before(a, b);
    if (order.last)
      return first;
    // If the order says both or neither, places decide; and where there is nothing but padding, which has the last places.
    Value decided = g.binary("xor", first, order.before(b, a));
    const Value their = theirs[where], own = now[where];
    if (n != padded)
      decided = g.binary(
          "and", decided,
          g.compare(ComparisonDirection::LT, g.binary("maximum", their, own), g.number(static_cast<double>(n), own)));
    return g.select(decided, first, g.compare(ComparisonDirection::LT, their, own));
  }

  // Blocks of 2^merge elements: those at even numbers are merged upwards, the others downwards.
  void step(int distance, int merge) {
    llvm::SmallVector<Value> theirs;
    for (Value x : now)
      theirs.push_back(partner(x, distance));
    const Value last = g.binary("xor", bitOfPlace(distance), bitOfPlace(merge)); // of the two, the later one belongs here
    const Value taken = g.binary("xor", isBefore(theirs), last);
    for (size_t i = 0; i < now.size(); ++i)
      now[i] = g.select(taken, theirs[i], now[i]);
  }
};

} // namespace

Value swapped(GraphBuilder &g, Value x, int64_t dim) {
  const int64_t last = typeOf(x).getRank() - 1;
  if (dim == last)
    return x;
  std::vector<int64_t> permutation;
  for (int64_t d = 0; d <= last; ++d)
    permutation.push_back(d == dim ? last : d == last ? dim : d);
  return g.transpose(x, permutation);
}

llvm::SmallVector<Value> sortedByNetwork(GraphBuilder &g, mlir::ValueRange operands, int64_t dim,
                                         const NetworkOrder &order) {
  const mlir::RankedTensorType type = typeOf(operands[0]);
  const int64_t n = type.getDimSize(static_cast<unsigned>(dim)), rows = type.getNumElements() / n;
  llvm::SmallVector<Value> in;
  size_t place = operands.size();
  for (const auto &[i, x] : llvm::enumerate(operands)) {
    if (isPlace(x, dim))
      place = i;
    in.push_back(g.reshape(swapped(g, x, dim), {rows, n}));
  }
  llvm::SmallVector<Value> out = Network(g, order, rows, n).run(in, place);
  std::vector<int64_t> shape(type.getShape());
  std::swap(shape[static_cast<size_t>(dim)], shape.back());
  for (Value &x : out)
    x = swapped(g, g.reshape(x, shape), dim);
  return out;
}

} // namespace glia::emit
