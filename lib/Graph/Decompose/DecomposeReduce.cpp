// arg-max: the largest value m of each row; the first place where the value is m, or NaN if there is one (then m is NaN as well). One
// comparison finds both: with the float below m.
// A body that only compares and selects is known completely by what it does for each order of its operands: it is tried on all.
#include "DecomposeReduce.h"
#include "Graph/Analysis/BodyTrial.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/GraphFacts.h"
#include "ReduceTree.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

#include <cmath>
#include <limits>
#include <optional>

namespace glia::emit {

namespace {

using graph::ComparisonDirection;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ArgMax {
  bool most = true;     // or least
  bool first = true;    // of equal ones, or last
  bool forgets = false; // after a NaN it begins again, as a comparison alone does; else NaN wins
};

bool same(double a, double b) { return a == b || (a != a && b != b); }

// What the body does with (value, place) so far and the next one, whose place is later.
std::optional<ArgMax> argMaxOf(mlir::Block &body, bool floats) {
  Trial trial(body);
  const auto takes = [&](double so, double next, bool expected) { // the next one, or what there was
    const auto got = trial.run({so, 0, next, 1});
    return got && same((*got)[0], expected ? next : so) && (*got)[1] == (expected ? 1 : 0);
  };
  ArgMax a;
  a.most = takes(0, 1, true);
  a.first = takes(0, 0, false);
  if (!takes(0, 1, a.most) || !takes(1, 0, !a.most) || !takes(0, 0, !a.first))
    return std::nullopt;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (!floats)
    return a;
  a.forgets = takes(nan, 0, true);
  if (!takes(0, nan, true) || !takes(nan, 0, a.forgets) || !takes(nan, nan, a.forgets) || !a.first)
    return std::nullopt;
  return a;
}

// The dimension along which a value counts 0, 1, 2 ...
std::optional<int64_t> countsAlong(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto iota = llvm::dyn_cast<graph::IotaOp>(op))
    return static_cast<int64_t>(iota.getIotaDimension());
  if (auto broadcast = llvm::dyn_cast<graph::BroadcastInDimOp>(op))
    if (const auto d = countsAlong(op->getOperand(0));
        d && typeOf(op->getOperand(0)).getDimSize(*d) == typeOf(v).getDimSize(broadcast.getBroadcastDimensions()[*d]))
      return broadcast.getBroadcastDimensions()[*d];
  return std::nullopt;
}

// The start that every value beats or equals.
bool startsLowest(mlir::Value start, bool most, bool floats) {
  const std::optional<double> s = splatOf(start);
  if (!s)
    return false;
  if (floats)
    return *s == (most ? -kInfinity : kInfinity);
  const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(start));
  const int bits = static_cast<int>(t.getWidth());
  if (t.isUnsigned() || bits == 1)
    return *s == (most ? 0 : std::ldexp(1.0, bits) - 1);
  return *s == (most ? -std::ldexp(1.0, bits - 1) : std::ldexp(1.0, bits - 1) - 1);
}

// What every other value of the row is at most (at least), but not m itself: the float below (above) m. If m is the lowest, no value misses:
// NaN compares with nothing. If m is NaN, everything but NaN misses.
mlir::Value beside(GraphBuilder &g, mlir::Value m, bool most) {
  const double end = most ? -kInfinity : kInfinity;
  const mlir::Value lowest = g.number(end, m);
  const mlir::Value next = g.binary("chlo.next_after", m, lowest);
  const mlir::Value some =
      g.select(g.compare(ComparisonDirection::EQ, m, lowest), g.number(std::numeric_limits<double>::quiet_NaN(), m), next);
  return g.select(g.compare(ComparisonDirection::NE, m, m), g.number(-end, m), some);
}

// A comparison alone takes what comes behind NaN, whatever it is: only elements behind the last NaN of a row count, or that NaN itself if
// none is behind it.
struct Behind {
  mlir::Value counts; // i1: the element counts
  mlir::Value none;   // i1, per row: the last element is NaN
};
Behind behindNan(GraphBuilder &g, mlir::Value x, mlir::Value places, int64_t dim, llvm::ArrayRef<int64_t> kept) {
  const mlir::Value before = g.number(-1, places), start = g.number(-1, mlir::RankedTensorType::get({}, g.b.getF32Type()));
  const mlir::Value nan = g.compare(ComparisonDirection::NE, x, x);
  const mlir::Value last = g.reduce("maximum", g.select(nan, places, before), start, {dim});
  const auto n = static_cast<double>(typeOf(x).getDimSize(static_cast<unsigned>(dim)));
  return {g.compare(ComparisonDirection::GT, places, g.broadcast(last, kept, typeOf(places))),
          g.compare(ComparisonDirection::EQ, last, g.number(n - 1, last))};
}

struct FirstMost {
  mlir::Value most, place; // of each row; the place as f32
};
// The largest (smallest) value along a dimension, and the least of the places of those that are it.
FirstMost firstMost(GraphBuilder &g, mlir::Value x, mlir::Value places, mlir::Value start, int64_t dim, bool most) {
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (d != dim)
      kept.push_back(d);
  const mlir::Value none = g.number(kInfinity, places);
  const mlir::Value m = g.reduce(most ? "maximum" : "minimum", x, start, {dim});
  const mlir::Type t = elementOf(x);
  const bool steps = t.isF32() || t.isBF16() || t.isF16();
  const mlir::Value limit = g.broadcast(steps ? beside(g, m, most) : m, kept, typeOf(x));
  mlir::Value candidates;
  if (steps) {
    candidates = g.select(g.compare(most ? ComparisonDirection::LE : ComparisonDirection::GE, x, limit), none, places);
  } else {
    mlir::Value hits = g.compare(ComparisonDirection::EQ, x, limit);
    if (llvm::isa<mlir::FloatType>(t))
      hits = g.binary("or", hits, g.compare(ComparisonDirection::NE, x, x));
    candidates = g.select(hits, places, none);
  }
  const mlir::Value last = g.number(kInfinity, mlir::RankedTensorType::get({}, g.b.getF32Type()));
  return {m, g.reduce("minimum", candidates, last, {dim})};
}

// Into how many parts a row is cut, so that few long rows use the partitions.
int64_t partsOf(int64_t rows, int64_t n) {
  constexpr int64_t kLong = 4096, kPartitions = 128;
  return n < kLong ? 1 : std::max<int64_t>(kPartitions / std::max<int64_t>(rows, 1), 1);
}

bool argMax(mlir::Operation *op) {
  if (op->getNumResults() != 2 || op->getNumOperands() != 4)
    return false;
  mlir::Value x = op->getOperand(0);
  const mlir::Value places = op->getOperand(1);
  const auto dims = llvm::cast<graph::ReduceOp>(op).getDimensions();
  const bool floats = llvm::isa<mlir::FloatType>(elementOf(x));
  const auto placeType = llvm::dyn_cast<mlir::IntegerType>(elementOf(places));
  if (dims.size() != 1 || !placeType || countsAlong(places) != dims[0])
    return false;
  const int64_t n = typeOf(x).getDimSize(dims[0]);
  const int bits = static_cast<int>(placeType.getWidth()) - !placeType.isUnsigned();
  if (n == 0 || n > (int64_t{1} << 24) || (bits < 24 && n > (int64_t{1} << bits)))
    return false;
  const std::optional<ArgMax> what = argMaxOf(op->getRegion(0).front(), floats);
  if (!what || !startsLowest(op->getOperand(2), what->most, floats) || splatOf(op->getOperand(3)) != 0.0 || !what->first)
    return false;
  GraphBuilder g(op);
  std::vector<int64_t> kept;
  for (int64_t d = 0; d < typeOf(x).getRank(); ++d)
    if (d != dims[0])
      kept.push_back(d);
  const auto counts = withElement(x, g.b.getF32Type());
  const mlir::Value none = g.number(kInfinity, counts);
  mlir::Value all = g.iota(counts, dims[0]);
  std::optional<Behind> behind;
  if (what->forgets) {
    behind = behindNan(g, x, all, dims[0], kept);
    x = g.select(behind->counts, x, g.broadcast(op->getOperand(2), {}, typeOf(x)));
    all = g.select(behind->counts, all, none);
  }
  const mlir::Value start = op->getOperand(2);
  const int64_t rows = typeOf(x).getNumElements() / n, parts = dims[0] + 1 == typeOf(x).getRank() ? partsOf(rows, n) : 1;
  mlir::Value m, first;
  if (parts > 1) { // of parts of each row, then of the parts; what fills up the last one beats nothing, and comes last
    const int64_t length = (n + parts - 1) / parts;
    const auto cut = [&](mlir::Value v, mlir::Value fill) {
      const mlir::Value flat = g.reshape(v, {rows, n});
      return g.reshape(parts * length > n ? g.pad(flat, fill, {0, 0}, {0, parts * length - n}) : flat,
                       {rows, parts, length});
    };
    const mlir::Value end = g.number(kInfinity, mlir::RankedTensorType::get({}, g.b.getF32Type()));
    const mlir::Value places =
        behind ? cut(all, end)
               : g.reshape(g.iota(mlir::RankedTensorType::get({rows, parts * length}, g.b.getF32Type()), 1),
                           {rows, parts, length});
    const FirstMost each = firstMost(g, cut(x, start), places, start, 2, what->most);
    const FirstMost whole = firstMost(g, each.most, each.place, start, 1, what->most);
    m = g.reshape(whole.most, typeOf(op->getResult(0)).getShape());
    first = g.reshape(whole.place, typeOf(op->getResult(0)).getShape());
  } else {
    const FirstMost whole = firstMost(g, x, all, start, dims[0], what->most);
    m = whole.most;
    first = whole.place;
  }
  if (behind) {
    m = g.select(behind->none, g.number(std::numeric_limits<double>::quiet_NaN(), m), m);
    first = g.select(behind->none, g.number(static_cast<double>(n - 1), first), first);
  }
  const mlir::Value place = g.convert(first, g.b.getI32Type()); // so that 64-bit places are seen to fit
  op->getResult(0).replaceAllUsesWith(m);
  op->getResult(1).replaceAllUsesWith(g.convert(place, placeType));
  return true;
}

// Each result depends on its own tensor only, through one operation.
bool apart(mlir::Operation *op) {
  const size_t n = op->getNumResults();
  mlir::Block &body = op->getRegion(0).front();
  std::vector<mlir::Operation *> inner;
  for (size_t i = 0; i < n; ++i) {
    mlir::Operation *made = body.getTerminator()->getOperand(i).getDefiningOp();
    if (!made || made->getNumOperands() != 2 || made->getNumRegions() || !made->getAttrs().empty())
      return false;
    const mlir::Value a = body.getArgument(i), b = body.getArgument(i + n), x = made->getOperand(0), y = made->getOperand(1);
    if (!((x == a && y == b) || (x == b && y == a)))
      return false;
    inner.push_back(made);
  }
  GraphBuilder g(op);
  for (size_t i = 0; i < n; ++i)
    op->getResult(i).replaceAllUsesWith(g.reduce(opName(inner[i]), op->getOperand(i), op->getOperand(i + n),
                                                 llvm::cast<graph::ReduceOp>(op).getDimensions()));
  return true;
}

// The start that changes nothing of an operation on integers or i1; nullopt for other operations.
std::optional<double> neutral(llvm::StringRef op, mlir::IntegerType t) {
  const int bits = static_cast<int>(t.getWidth());
  const bool natural = t.isUnsigned() || bits == 1;
  const double low = natural ? 0 : -std::ldexp(1.0, bits - 1), high = std::ldexp(1.0, natural ? bits : bits - 1) - 1;
  if (op == "add" || op == "or" || op == "xor")
    return 0;
  if (op == "multiply")
    return 1;
  if (op == "and")
    return natural ? high : -1;
  if (op == "maximum")
    return low;
  if (op == "minimum")
    return high;
  return std::nullopt;
}
std::optional<double> neutral(llvm::StringRef op, mlir::Type t) {
  if (auto i = llvm::dyn_cast<mlir::IntegerType>(t))
    return neutral(op, i);
  if (op == "add")
    return -0.0;
  if (op == "multiply")
    return 1;
  return op == "maximum" ? std::optional(-kInfinity) : op == "minimum" ? std::optional(kInfinity) : std::nullopt;
}

std::optional<bool> truthOf(mlir::Value v) {
  mlir::Operation *made = v.getDefiningOp();
  const auto value =
      made && opName(made) == "constant" ? made->getAttrOfType<mlir::DenseElementsAttr>("value") : mlir::DenseElementsAttr();
  if (!value || !value.getElementType().isInteger(1) || !value.isSplat())
    return std::nullopt;
  return value.getSplatValue<bool>();
}

// A truth value that is written as `p ? true : false`, as torch_xla writes all() and any(), is p.
void plainTruth(mlir::Block &body) {
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : body.without_terminator())
    ops.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(ops)) { // users first
    if (opName(op) == "select" && truthOf(op->getOperand(1)) == true && truthOf(op->getOperand(2)) == false)
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
    if (op->use_empty() && (opName(op) == "select" || opName(op) == "constant"))
      op->erase();
  }
}

// The operation of a body that is one; null for others.
mlir::Operation *single(mlir::Operation *op) {
  mlir::Block &body = op->getRegion(0).front();
  if (op->getNumResults() != 1 || body.getOperations().size() != 2)
    return nullptr;
  mlir::Operation *inner = &body.front();
  const mlir::Value a = body.getArgument(0), b = body.getArgument(1);
  if (inner->getNumOperands() != 2 || inner->getNumResults() != 1 ||
      body.getTerminator()->getOperand(0) != inner->getResult(0))
    return nullptr;
  const mlir::Value x = inner->getOperand(0), y = inner->getOperand(1);
  return (x == a && y == b) || (x == b && y == a) ? inner : nullptr;
}

// From the neutral start; another one comes in at the end. Sums and products of narrow integers in 32 bits: they wrap alike.
bool fromNeutral(mlir::Operation *op) {
  mlir::Operation *inner = single(op);
  if (!inner)
    return false;
  const mlir::Type t = elementOf(op->getOperand(0));
  const auto integer = llvm::dyn_cast<mlir::IntegerType>(t);
  const std::optional<double> start = splatOf(op->getOperand(1)), none = neutral(opName(inner), t);
  if (!none || elementOf(op->getResult(0)) != t || elementOf(op->getOperand(1)) != t || (integer && integer.getWidth() > 32))
    return false;
  const bool starts = integer ? start != none : !start;
  const bool sums = opName(inner) == "add" || opName(inner) == "multiply";
  const bool narrow = integer && integer.getWidth() > 1 && integer.getWidth() < 32 && sums;
  const auto dims = llvm::cast<graph::ReduceOp>(op).getDimensions();
  const mlir::Value x = op->getOperand(0);
  // All of many integers to one number: first to one per partition.
  const int64_t n = typeOf(x).getNumElements();
  const bool two = integer && typeOf(op->getResult(0)).getNumElements() == 1 && n >= 4096 && n % 128 == 0;
  if (!starts && !narrow && !two)
    return false;
  GraphBuilder g(op);
  const mlir::Type wide = narrow ? mlir::IntegerType::get(op->getContext(), 32, integer.getSignedness()) : t;
  const mlir::Value from = g.number(*none, mlir::RankedTensorType::get({}, wide)), data = g.convert(x, wide);
  mlir::Value made;
  if (two) {
    const mlir::Value some = g.reduce(opName(inner), g.reshape(data, {128, n / 128}), from, {1});
    made = g.reshape(g.reduce(opName(inner), some, from, {0}), typeOf(op->getResult(0)).getShape());
  } else {
    made = g.reduce(opName(inner), data, from, dims);
  }
  made = g.convert(made, t);
  if (starts)
    made = g.binary(opName(inner), g.broadcast(op->getOperand(1), {}, typeOf(made)), made);
  op->getResult(0).replaceAllUsesWith(made);
  return true;
}

// What is subtracted from the start, one after the other, is subtracted at once.
bool differences(mlir::Operation *op) {
  mlir::Operation *inner = single(op);
  mlir::Block &body = op->getRegion(0).front();
  if (!inner || opName(inner) != "subtract" || inner->getOperand(0) != body.getArgument(0))
    return false;
  const mlir::Value start = op->getOperand(1);
  const mlir::Type t = elementOf(op->getOperand(0));
  if (!llvm::isa<mlir::FloatType, mlir::IntegerType>(t) || elementOf(start) != t || elementOf(op->getResult(0)) != t)
    return false;
  GraphBuilder g(op);
  const mlir::Value sum =
      g.reduce("add", op->getOperand(0), g.number(0, start), llvm::cast<graph::ReduceOp>(op).getDimensions());
  op->getResult(0).replaceAllUsesWith(g.subtract(g.broadcast(start, {}, typeOf(sum)), sum));
  return true;
}

bool combines(mlir::Operation *op) {
  mlir::Operation *inner = single(op);
  return inner && neutral(opName(inner), elementOf(op->getOperand(0)));
}

} // namespace

void decomposeReductions(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (opName(op) == "reduce")
      plainTruth(op->getRegion(0).front());
  for (mlir::Operation *op : programOps(main))
    if (opName(op) == "reduce" && op->getNumResults() > 1 && (argMax(op) || apart(op)))
      op->erase();
  for (mlir::Operation *op : programOps(main))
    if (opName(op) == "reduce" && (differences(op) || fromNeutral(op)))
      op->erase();
  for (mlir::Operation *op : programOps(main))
    if (auto reduce = llvm::dyn_cast<graph::ReduceOp>(op))
      if ((op->getNumResults() > 1 || (op->getNumOperands() == 2 && !combines(op))) &&
          !takes64Bits(op)) // these may still be narrowed
        writeByTree(reduce);
}

} // namespace glia::emit
