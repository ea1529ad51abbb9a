#include "DecomposeSort.h"
#include "Graph/Analysis/BodyTrial.h"
#include "DecomposeChlo.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Graph/Analysis/PlainBody.h"
#include "SortNetwork.h"
#include "SplitTopK.h"
#include "Lower/Order/TopK.h"

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
  Trial trial(body, Trial::TotalOrder);
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
  if (const auto f = llvm::dyn_cast<mlir::FloatType>(elementOf(x))) {
    keys = orderedBits(g, x);
    if (!keys)
      return {};
    if (order.equalZeros) {
      // -0 is just below +0; beyond the largest number, and its mirror image, is NaN.
      const llvm::fltSemantics &how = f.getFloatSemantics();
      const llvm::APFloat largest =
          llvm::APFloat::semanticsHasInf(how) ? llvm::APFloat::getInf(how) : llvm::APFloat::getLargest(how);
      const auto most = static_cast<double>(largest.bitcastToAPInt().getZExtValue());
      const auto is = [&](graph::ComparisonDirection relation, double n) {
        return g.compare(relation, keys, g.number(n, keys));
      };
      const mlir::Value nan =
          g.binary("or", is(graph::ComparisonDirection::GT, most), is(graph::ComparisonDirection::LT, -most - 1));
      const mlir::Value zero = is(graph::ComparisonDirection::EQ, -1);
      keys = g.select(zero, g.number(0, keys), g.select(nan, g.number(most + 1, keys), keys));
    }
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

// Of integers, the one that comes last.
mlir::DenseElementsAttr lastOf(mlir::Type element, bool ascending) {
  const auto type = mlir::RankedTensorType::get({}, element);
  const unsigned width = element.getIntOrFloatBitWidth();
  if (element.isUnsignedInteger() || width == 1)
    return mlir::DenseElementsAttr::get(type, ascending ? llvm::APInt::getMaxValue(width) : llvm::APInt::getMinValue(width));
  return mlir::DenseElementsAttr::get(type, ascending ? llvm::APInt::getSignedMaxValue(width)
                                                      : llvm::APInt::getSignedMinValue(width));
}

int64_t dimensionOf(graph::SortOp op) {
  const auto dim = static_cast<int64_t>(op.getDimension());
  return dim < 0 ? dim + typeOf(op->getOperand(0)).getRank() : dim;
}

bool writeByPlaces(graph::SortOp op, const SortOrder &order) {
  GraphBuilder g(op);
  const int64_t dim = dimensionOf(op);
  const mlir::Value keys = keysOf(g, swapped(g, op->getOperand(order.key), dim), order);
  if (!keys)
    return false;
  const mlir::Value at = places(g, keys);
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    op->getResult(i).replaceAllUsesWith(swapped(g, takenAlongLast(g, swapped(g, op->getOperand(i), dim), at), dim));
  op->erase();
  return true;
}

mlir::Type bitsOf(mlir::Type t) {
  return llvm::isa<mlir::FloatType>(t) ? mlir::IntegerType::get(t.getContext(), t.getIntOrFloatBitWidth()) : t;
}

void writeByNetwork(graph::SortOp op, const std::optional<SortOrder> &order) {
  mlir::Block &body = op->getRegion(0).front();
  if (!isPlainBody(body))
    return;
  GraphBuilder g(op);
  const auto before = [&](mlir::ValueRange a, mlir::ValueRange b) {
    llvm::SmallVector<mlir::Value> arguments;
    for (auto [x, y] : llvm::zip(a, b)) {
      arguments.push_back(x);
      arguments.push_back(y);
    }
    return applied(g, body, arguments)[0];
  };
  NetworkOrder network{before, {}};
  const bool floats = order && llvm::isa<mlir::FloatType>(elementOf(op->getOperand(order->key)));
  if (order && !floats && op->getNumOperands() == 1)
    network.last = lastOf(elementOf(op->getOperand(0)), order->ascending);
  // Floats that are compared by one key are compared as integers, which are made once and go along.
  llvm::SmallVector<mlir::Value> operands(op->getOperands());
  const mlir::Value keys = floats ? keysOf(g, op->getOperand(order->key), *order) : mlir::Value();
  const auto larger = [&](mlir::ValueRange a, mlir::ValueRange b) {
    return g.compare(graph::ComparisonDirection::GT, a.back(), b.back());
  };
  if (keys) { // then all others are bits
    for (mlir::Value &x : operands)
      x = g.bitcast(x, bitsOf(elementOf(x)));
    operands.push_back(keys);
    network.before = larger;
  }
  llvm::SmallVector<mlir::Value> sorted = sortedByNetwork(g, operands, dimensionOf(op), network);
  sorted.resize(op->getNumResults());
  for (auto [x, old] : llvm::zip(sorted, op->getOperands()))
    x = g.bitcast(x, elementOf(old));
  op->replaceAllUsesWith(sorted);
  op->erase();
}

void write(graph::SortOp op) {
  const mlir::RankedTensorType t = typeOf(op->getOperand(0));
  if (t.getNumElements() == 0)
    return;
  if (t.getRank() == 0) {
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
    return;
  }
  const int64_t n = t.getDimSize(static_cast<unsigned>(dimensionOf(op)));
  const std::optional<SortOrder> order = orderOf(op);
  if (!order || !isPicked(elementOf(op->getOperand(order->key)), n, n) || !writeByPlaces(op, *order))
    writeByNetwork(op, order);
}

// Of more elements than are picked one by one, or of the smallest: all are sorted.
void writeTopK(mlir::Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 2)
    return;
  const mlir::Value x = op->getOperand(0);
  const mlir::RankedTensorType type = typeOf(x), out = typeOf(op->getResult(0));
  const int64_t rank = type.getRank();
  if (rank == 0 || out.getRank() != rank || type.getNumElements() == 0)
    return;
  const int64_t n = type.getShape().back(), picks = out.getShape().back();
  if (picks > n)
    return;
  if (isPicked(elementOf(x), picks, n) && !isOfSmallest(op)) {
    if (splitTopK(op))
      op->erase();
    return;
  }
  GraphBuilder g(op);
  const auto direction = isOfSmallest(op) ? graph::ComparisonDirection::LT : graph::ComparisonDirection::GT;
  const auto before = [&](mlir::ValueRange a, mlir::ValueRange b) { return g.compareTotal(direction, a[0], b[0]); };
  const mlir::Value places = g.iota(withElement(x, elementOf(op->getResult(1))), rank - 1);
  const llvm::SmallVector<mlir::Value> all = sortedByNetwork(g, {x, places}, rank - 1, {before, {}});
  for (unsigned i = 0; i < 2; ++i)
    op->getResult(i).replaceAllUsesWith(g.slice(all[i], std::vector<int64_t>(static_cast<size_t>(rank), 0), out.getShape()));
  op->erase();
}

void decompose(mlir::func::FuncOp main, bool onlyWide) {
  for (mlir::Operation *op : programOps(main)) {
    if (onlyWide && !takes64Bits(op))
      continue;
    if (auto sort = llvm::dyn_cast<graph::SortOp>(op))
      write(sort);
    else if (isTopK(op))
      writeTopK(op);
  }
}

} // namespace

void decomposeSorts(mlir::func::FuncOp main) { decompose(main, false); }
void decomposeWideSorts(mlir::func::FuncOp main) { decompose(main, true); }

} // namespace glia::emit
