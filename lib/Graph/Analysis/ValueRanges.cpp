#include "ValueRanges.h"
#include "glia/Lower/Family.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace glia::emit {

namespace {

using Maybe = std::optional<Range>;

Maybe together(const Maybe &a, const Maybe &b) {
  if (!a || !b)
    return std::nullopt;
  return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
}

// The corners of an operation that is monotonous in each operand.
template <class Op> Maybe corners(const Range &a, const Range &b, Op op) {
  Maybe out;
  for (int64_t x : {a.low, a.high})
    for (int64_t y : {b.low, b.high}) {
      int64_t r;
      if (op(x, y, &r))
        return std::nullopt;
      out = out ? together(out, Range{r, r}) : Range{r, r};
    }
  return out;
}

int64_t maskAbove(int64_t v) { // the smallest 2^k - 1 that is not less
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(v) + 1) - 1);
}

Maybe ofConstant(mlir::Operation *op) {
  const auto value = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
  const auto t = value ? llvm::dyn_cast<mlir::IntegerType>(value.getElementType()) : nullptr;
  if (!t || value.getNumElements() == 0)
    return std::nullopt;
  Maybe out;
  for (const llvm::APInt &n : value.getValues<llvm::APInt>()) {
    if (t.isUnsigned() && n.getActiveBits() > 63)
      return std::nullopt;
    const int64_t v = t.isUnsigned() || t.getWidth() == 1 ? static_cast<int64_t>(n.getZExtValue()) : n.getSExtValue();
    out = out ? together(out, Range{v, v}) : Range{v, v};
    if (value.isSplat())
      break;
  }
  return out;
}

Maybe divided(const Range &a, const Range &b) {
  if (b.low <= 0 && b.high >= 0)
    return std::nullopt;
  return corners(a, b, [](int64_t x, int64_t y, int64_t *r) {
    if (y == -1)
      return __builtin_sub_overflow(int64_t{0}, x, r);
    *r = x / y;
    return false;
  });
}

Maybe rest(const Range &a, const Range &b) {
  if ((b.low <= 0 && b.high >= 0) || b.low == INT64_MIN)
    return std::nullopt;
  const int64_t most = std::max(std::abs(b.low), std::abs(b.high)) - 1;
  return Range{a.low < 0 ? std::max(a.low, -most) : 0, a.high > 0 ? std::min(a.high, most) : 0};
}

// Up to n elements of `data`, combined with a start.
Maybe combined(mlir::Operation *op, const Maybe &data, const Maybe &start, int64_t n) {
  mlir::Block &body = op->getRegion(0).front();
  if (op->getNumResults() != 1 || body.getOperations().size() > 2 || !data || !start)
    return std::nullopt;
  if (body.getOperations().size() == 1) // one of the two
    return together(data, start);
  const llvm::StringRef name = opName(&body.front());
  if (name == "maximum" || name == "minimum")
    return together(data, start);
  Range sum;
  if (name != "add" || __builtin_mul_overflow(std::min<int64_t>(data->low, 0), n, &sum.low) ||
      __builtin_mul_overflow(std::max<int64_t>(data->high, 0), n, &sum.high) ||
      __builtin_add_overflow(sum.low, start->low, &sum.low) || __builtin_add_overflow(sum.high, start->high, &sum.high))
    return std::nullopt;
  return sum;
}

Maybe reduced(mlir::Operation *op, const Maybe &data, const Maybe &start) {
  return combined(op, data, start, elementsOf(op->getOperand(0)) / std::max<int64_t>(elementsOf(op->getResult(0)), 1));
}
Maybe windowed(graph::ReduceWindowOp op, const Maybe &data, const Maybe &start) {
  int64_t taps = 1;
  for (int64_t n : op.getWindowDimensions())
    taps *= n;
  return combined(op, together(data, start), start, taps); // the padding holds the start
}

// The number below which the argument of a loop's condition must be for the loop to go on.
std::optional<double> boundOf(mlir::Value condition, mlir::Value argument) {
  mlir::Operation *op = condition.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (opName(op) == "and") {
    const std::optional<double> left = boundOf(op->getOperand(0), argument);
    return left ? left : boundOf(op->getOperand(1), argument);
  }
  auto compare = llvm::dyn_cast<graph::CompareOp>(op);
  if (!compare)
    return std::nullopt;
  const auto how = compare.getComparisonDirection();
  using graph::ComparisonDirection;
  const bool less = how == ComparisonDirection::LT || how == ComparisonDirection::LE;
  const bool greater = how == ComparisonDirection::GT || how == ComparisonDirection::GE;
  const unsigned side = less ? 0 : 1; // argument < bound, or bound > argument
  if ((!less && !greater) || op->getOperand(side) != argument)
    return std::nullopt;
  const std::optional<double> bound = splatOf(op->getOperand(1 - side));
  if (!bound || !(std::fabs(*bound) < 0x1p52))
    return std::nullopt;
  return *bound + (how == ComparisonDirection::LE || how == ComparisonDirection::GE);
}

} // namespace

std::optional<Range> rangeOfType(mlir::Type t) {
  const auto i = llvm::dyn_cast<mlir::IntegerType>(t);
  if (!i || i.getWidth() > 32)
    return std::nullopt;
  const int64_t all = int64_t{1} << i.getWidth();
  return i.isUnsigned() || i.getWidth() == 1 ? Range{0, all - 1} : Range{-all / 2, all / 2 - 1};
}

std::optional<Range> ValueRanges::of(mlir::Value v) const {
  if (const auto it = known.find(v); it != known.end())
    return it->second;
  return rangeOfType(elementOf(v));
}

bool ValueRanges::fitsWord(mlir::Value v) const {
  const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
  const auto t = tensor ? llvm::dyn_cast<mlir::IntegerType>(tensor.getElementType()) : mlir::IntegerType();
  if (!t || t.getWidth() != 64)
    return true;
  const Maybe r = of(v);
  return r && (t.isUnsigned() ? r->within(0, UINT32_MAX) : r->within(INT32_MIN, INT32_MAX));
}

// Counters: from a known start by a constant step as long as they are below a bound.
void ValueRanges::visitLoop(mlir::Operation *op) {
  mlir::Block &condition = op->getRegion(0).front(), &body = op->getRegion(1).front();
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    const mlir::Value argument = body.getArgument(i), next = body.getTerminator()->getOperand(i);
    const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(argument.getType());
    if (!tensor || !llvm::isa<mlir::IntegerType>(tensor.getElementType()) || tensor.getNumElements() != 1)
      continue;
    mlir::Operation *add = next.getDefiningOp();
    if (!add || opName(add) != "add")
      continue;
    const unsigned side = add->getOperand(0) == argument ? 1 : 0;
    const std::optional<double> step = splatOf(add->getOperand(side)),
                                bound = boundOf(condition.getTerminator()->getOperand(0), condition.getArgument(i));
    const Maybe start = of(op->getOperand(i));
    if (add->getOperand(1 - side) != argument || !step || !bound || !start || *step < 0 || *step > 0x1p52)
      continue;
    const int64_t last = std::max(start->high, static_cast<int64_t>(*bound) - 1 + static_cast<int64_t>(*step));
    if (const Maybe type = rangeOfType(tensor.getElementType()); type && last > type->high)
      continue; // it may wrap
    for (mlir::Value v : {mlir::Value(op->getResult(i)), argument, mlir::Value(condition.getArgument(i))})
      known[v] = {start->low, last};
  }
}

void ValueRanges::visit(mlir::Operation *op) {
  if (opName(op) == "while")
    return visitLoop(op);
  for (mlir::Value v : op->getResults()) {
    const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
    const auto t = tensor ? llvm::dyn_cast<mlir::IntegerType>(tensor.getElementType()) : nullptr;
    if (!t)
      continue;
    const Maybe r = made(op, llvm::cast<mlir::OpResult>(v).getResultNumber());
    const Maybe type = rangeOfType(t);
    const bool wraps = r && (type ? !r->within(type->low, type->high) : t.isUnsigned() && r->low < 0);
    if (r && !wraps)
      known[v] = *r;
  }
}

std::optional<Range> ValueRanges::made(mlir::Operation *op, unsigned result) const {
  const llvm::StringRef name = opName(op);
  static constexpr llvm::StringLiteral kSame[] = {"broadcast_in_dim", "reshape", "transpose",     "slice",
                                                  "reverse",          "gather",  "dynamic_slice", "broadcast"};
  if (name == "constant")
    return ofConstant(op);
  if (auto iota = llvm::dyn_cast<graph::IotaOp>(op))
    return Range{
        0, std::max<int64_t>(typeOf(op->getResult(0)).getDimSize(static_cast<int64_t>(iota.getIotaDimension())) - 1, 0)};
  if (op->getNumOperands() == 0)
    return std::nullopt;
  for (mlir::Value v : op->getOperands())
    if (!llvm::isa<mlir::RankedTensorType>(v.getType()))
      return std::nullopt;
  const Maybe a = of(op->getOperand(name == "optimization_barrier" ? result : 0));
  if (llvm::is_contained(kSame, name) || name == "optimization_barrier" || name == "convert")
    return a;
  if (name == "concatenate") {
    Maybe all = a;
    for (mlir::Value v : op->getOperands())
      all = together(all, of(v));
    return all;
  }
  if (name == "negate" || name == "abs") {
    if (!a || a->low == INT64_MIN)
      return std::nullopt;
    const Range minus{-a->high, -a->low};
    return name == "negate" || a->high <= 0 ? minus : Range{std::max<int64_t>(a->low, 0), std::max(a->high, minus.high)};
  }
  if (name == "sign")
    return Range{-1, 1};
  if (name == "popcnt" || name == "count_leading_zeros")
    return Range{0, 64};
  if (name == "not" && a)
    return Range{~a->high, ~a->low};
  if (op->getNumOperands() < 2)
    return std::nullopt;
  const Maybe b = of(op->getOperand(1));
  if (name == "pad" || name == "dynamic_update_slice")
    return together(a, b);
  if (name == "select")
    return together(b, of(op->getOperand(2)));
  if (name == "reduce")
    return reduced(op, a, b);
  if (auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op))
    return op->getNumOperands() == 2 ? windowed(window, a, b) : std::nullopt;
  if (name == "scatter" && op->getNumOperands() == 3)
    return combined(op, of(op->getOperand(2)), a, elementsOf(op->getOperand(2)));
  if (name == "clamp") { // low, x, high: what the bounds allow, even if x is not known
    const Maybe high = of(op->getOperand(2));
    if (!a || !high)
      return std::nullopt;
    return b ? Range{std::min(std::max(a->low, b->low), high->low), std::min(std::max(a->high, b->high), high->high)}
             : Range{std::min(a->low, high->low), high->high};
  }
  if (name == "remainder" && b && !a) { // less than the divisor, whatever it is taken of
    const auto t = llvm::cast<mlir::IntegerType>(elementOf(op->getResult(0)));
    return rest(t.isUnsigned() ? Range{0, INT64_MAX} : Range{-INT64_MAX, INT64_MAX}, *b);
  }
  if (name == "and" && (a || b)) {
    if ((!a || a->low < 0) && (!b || b->low < 0))
      return std::nullopt;
    int64_t high = INT64_MAX;
    for (const Maybe &r : {a, b})
      if (r && r->low >= 0)
        high = std::min(high, r->high);
    return Range{0, high};
  }
  if (!a || !b)
    return std::nullopt;
  if (name == "add")
    return corners(*a, *b, [](int64_t x, int64_t y, int64_t *r) { return __builtin_add_overflow(x, y, r); });
  if (name == "subtract")
    return corners(*a, *b, [](int64_t x, int64_t y, int64_t *r) { return __builtin_sub_overflow(x, y, r); });
  if (name == "multiply")
    return corners(*a, *b, [](int64_t x, int64_t y, int64_t *r) { return __builtin_mul_overflow(x, y, r); });
  if (name == "maximum")
    return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
  if (name == "minimum")
    return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
  if (name == "divide")
    return divided(*a, *b);
  if (name == "remainder")
    return rest(*a, *b);
  if ((name == "or" || name == "xor") && a->low >= 0 && b->low >= 0)
    return Range{0, maskAbove(std::max(a->high, b->high))};
  if (name == "shift_left" && b->within(0, 62))
    return corners(*a, *b, [](int64_t x, int64_t y, int64_t *r) { return __builtin_mul_overflow(x, int64_t{1} << y, r); });
  if (name == "shift_right_arithmetic" || (name == "shift_right_logical" && a->low >= 0))
    return b->low < 0 ? Range{std::min<int64_t>(a->low, 0) < 0 ? a->low : 0, std::max<int64_t>(a->high, 0)}
                      : *corners(
                            *a, *b,
                            [](int64_t x, int64_t y, int64_t *r) {
                              *r = x >> std::min<int64_t>(y, 63);
                              return false;
                            });
  return std::nullopt;
}

} // namespace glia::emit
