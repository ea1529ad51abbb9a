#include "FoldConstants.h"
#include "Graph/Analysis/ConstantElements.h"
#include "Lower/Window/WindowScan.h"
#include "glia/Lower/Family.h"

#include <bit>
#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

constexpr int64_t kMostElements = 65536;
using graph::ComparisonDirection;

// ---- one element ------------------------------------------------------------------------------------------------------------
struct Kind {
  mlir::Type element;
  bool isFloat, isUnsigned, isBool;
  int bits;
};
Kind kindOf(mlir::Type t) {
  const auto i = llvm::dyn_cast<mlir::IntegerType>(t);
  return {t, !i, isUnsignedType(t), t.isInteger(1), i ? static_cast<int>(i.getWidth()) : 0};
}

uint64_t bitsOf(int64_t v) { return static_cast<uint64_t>(v); }
int64_t valueOf(uint64_t v) { return static_cast<int64_t>(v); }
bool isLess(const Kind &k, int64_t a, int64_t b) { return k.isUnsigned ? bitsOf(a) < bitsOf(b) : a < b; }

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t quotient(const Kind &k, int64_t a, int64_t b) {
  if (b == 0)
    return -1;
  if (k.isUnsigned)
    return valueOf(bitsOf(a) / bitsOf(b));
  return b == -1 ? valueOf(0 - bitsOf(a)) : a / b;
}
int64_t rest(const Kind &k, int64_t a, int64_t b) {
  if (b == 0)
    return a;
  if (k.isUnsigned)
    return valueOf(bitsOf(a) % bitsOf(b));
  return b == -1 ? 0 : a % b;
}
uint64_t ownBits(const Kind &k, int64_t a) { return k.bits == 64 ? bitsOf(a) : bitsOf(a) & ((uint64_t{1} << k.bits) - 1); }
bool within(const Kind &k, int64_t count) { return bitsOf(count) < static_cast<uint64_t>(k.bits); }

double largest(double a, double b) { return a != a || b != b ? kNan : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b; }
double least(double a, double b) { return a != a || b != b ? kNan : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b; }
double nearestEven(double x) { // independent of the rounding mode's library call
  if (!(std::fabs(x) < 0x1p52))
    return x;
  return std::copysign(std::fabs(x) + 0x1p52 - 0x1p52, x);
}
double awayFromZero(double x) {
  const double t = std::trunc(x);
  return std::fabs(x - t) >= 0.5 ? t + std::copysign(1.0, x) : std::copysign(t, x);
}

using Pair = Number (*)(const Kind &, const Number &, const Number &);
struct Binary {
  llvm::StringLiteral name;
  Pair floats, integers, booleans; // null: not folded
};
#define F(expression)                                                                                                       \
  [](const Kind &, const Number &x, const Number &y) -> Number {                                                            \
    const double a = x.f, b = y.f;                                                                                          \
    (void)a, (void)b;                                                                                                       \
    return {0, expression};                                                                                                 \
  }
#define I(expression)                                                                                                       \
  [](const Kind &k, const Number &x, const Number &y) -> Number {                                                           \
    const int64_t a = x.i, b = y.i;                                                                                         \
    (void)k, (void)a, (void)b;                                                                                              \
    return {expression, 0};                                                                                                 \
  }
constexpr Binary kBinary[] = {
    {"add", F(a + b), I(valueOf(bitsOf(a) + bitsOf(b))), I(a | b)},
    {"subtract", F(a - b), I(valueOf(bitsOf(a) - bitsOf(b))), nullptr},
    {"multiply", F(a * b), I(valueOf(bitsOf(a) * bitsOf(b))), I(a & b)},
    {"divide", F(a / b), I(quotient(k, a, b)), nullptr},
    {"remainder", F(std::fmod(a, b)), I(rest(k, a, b)), nullptr},
    {"maximum", F(largest(a, b)), I(isLess(k, a, b) ? b : a), I(a | b)},
    {"minimum", F(least(a, b)), I(isLess(k, a, b) ? a : b), I(a & b)},
    {"and", nullptr, I(a & b), I(a & b)},
    {"or", nullptr, I(a | b), I(a | b)},
    {"xor", nullptr, I(a ^ b), I(a ^ b)},
    {"shift_left", nullptr, I(within(k, b) ? valueOf(bitsOf(a) << b) : 0), nullptr},
    {"shift_right_logical", nullptr, I(within(k, b) ? valueOf(ownBits(k, a) >> b) : 0), nullptr},
    {"shift_right_arithmetic", nullptr,
     I((valueOf(ownBits(k, a) << (64 - k.bits)) >> (64 - k.bits)) >> (within(k, b) ? b : 63)), nullptr},
    // of one operand: the second is the first again
    {"negate", F(-a), I(valueOf(0 - bitsOf(a))), nullptr},
    {"abs", F(std::fabs(a)), I(!k.isUnsigned && a < 0 ? valueOf(0 - bitsOf(a)) : a), nullptr},
    {"sign", F(a != a || a == 0 ? a : std::copysign(1.0, a)),
     I(a == 0                   ? 0
       : !k.isUnsigned && a < 0 ? -1
                                : 1),
     nullptr},
    {"not", nullptr, I(~a), I(a ^ 1)},
    {"sqrt", F(std::sqrt(a)), nullptr, nullptr},
    {"floor", F(std::floor(a)), nullptr, nullptr},
    {"ceil", F(std::ceil(a)), nullptr, nullptr},
    {"round_nearest_even", F(nearestEven(a)), nullptr, nullptr},
    {"round_nearest_afz", F(awayFromZero(a)), nullptr, nullptr},
    {"popcnt", nullptr, I(std::popcount(ownBits(k, a))), nullptr},
    {"count_leading_zeros", nullptr, I(std::countl_zero(ownBits(k, a)) - (64 - k.bits)), nullptr},
};
#undef F
#undef I

Pair findBinary(mlir::Operation *op) {
  const Kind k = kindOf(elementOf(op->getOperand(0)));
  for (const Binary &b : kBinary)
    if (b.name == opName(op))
      return k.isFloat ? b.floats : k.isBool ? b.booleans : b.integers;
  return nullptr;
}

template <class T> bool compared(ComparisonDirection how, T a, T b) {
  switch (how) {
  case ComparisonDirection::EQ: return a == b;
  case ComparisonDirection::NE: return a != b;
  case ComparisonDirection::GE: return a >= b;
  case ComparisonDirection::GT: return a > b;
  case ComparisonDirection::LE: return a <= b;
  default: return a < b;
  }
}

Number converted(const Kind &from, const Kind &to, const Number &n) {
  if (to.isBool)
    return {from.isFloat ? n.f != 0 : n.i != 0, 0};
  if (from.isFloat && to.isFloat)
    return {0, n.f};
  if (!from.isFloat && !to.isFloat)
    return {n.i, 0};
  if (to.isFloat)
    return {0, from.isUnsigned ? static_cast<double>(bitsOf(n.i)) : static_cast<double>(n.i)};
  const double x = std::trunc(n.f); // toward zero; out of range saturates, NaN gives 0
  const double above = std::ldexp(1.0, to.bits - !to.isUnsigned), below = to.isUnsigned ? 0 : -above;
  if (x != x)
    return {0, 0};
  if (x >= above)
    return {to.isUnsigned ? valueOf(to.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << to.bits) - 1)
                          : valueOf((uint64_t{1} << (to.bits - 1)) - 1),
            0};
  if (x <= below)
    return {to.isUnsigned ? 0 : valueOf(~uint64_t{0} << (to.bits - 1)), 0};
  return {to.isUnsigned ? valueOf(static_cast<uint64_t>(x)) : static_cast<int64_t>(x), 0};
}

// ---- one operation ----------------------------------------------------------------------------------------------------------
using In = llvm::ArrayRef<Elements>;

// Element by element; all splats give a splat.
template <class Make> std::optional<Elements> mapped(mlir::Operation *op, In in, Make make) {
  Elements out{typeOf(op->getResult(0)), {}};
  const bool splat = llvm::all_of(in, [](const Elements &e) { return e.splat(); });
  const int64_t n = splat ? 1 : out.type.getNumElements();
  if (n > kMostElements)
    return std::nullopt;
  for (int64_t i = 0; i < n; ++i)
    out.values.push_back(wrapped(out.type.getElementType(), make(i)));
  return out;
}

std::optional<Elements> pointwise(mlir::Operation *op, In in) {
  const llvm::StringRef name = opName(op);
  const Kind k = kindOf(in[0].type.getElementType());
  // In double, then rounded to the type: twice rounded is as good as once for types up to f32.
  if (const Pair pair = findBinary(op))
    return mapped(op, in, [&](int64_t i) { return pair(k, in[0].at(i), in.back().at(i)); });
  if (auto compare = llvm::dyn_cast<graph::CompareOp>(op)) {
    if (compare.getCompareType() == graph::ComparisonType::TOTALORDER)
      return std::nullopt;
    const ComparisonDirection how = compare.getComparisonDirection();
    return mapped(op, in, [&](int64_t i) -> Number {
      const Number &a = in[0].at(i), &b = in[1].at(i);
      return {k.isFloat      ? compared(how, a.f, b.f)
              : k.isUnsigned ? compared(how, bitsOf(a.i), bitsOf(b.i))
                             : compared(how, a.i, b.i),
              0};
    });
  }
  if (name == "select")
    return mapped(op, in, [&](int64_t i) { return in[0].at(i).i ? in[1].at(i) : in[2].at(i); });
  if (name == "is_finite")
    return mapped(op, in, [&](int64_t i) -> Number { return {std::isfinite(in[0].at(i).f), 0}; });
  if (name == "convert") {
    const Kind to = kindOf(elementOf(op->getResult(0)));
    // A 64-bit integer would be rounded twice on its way to a narrow float.
    if (k.bits == 64 && to.isFloat && !to.element.isF64() &&
        llvm::any_of(in[0].values, [](const Number &n) { return n.i >= (int64_t{1} << 53) || n.i < -(int64_t{1} << 53); }))
      return std::nullopt;
    return mapped(op, in, [&](int64_t i) { return converted(k, to, in[0].at(i)); });
  }
  return std::nullopt;
}

std::vector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  std::vector<int64_t> out(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    out[d - 1] = out[d] * shape[d];
  return out;
}

// Each element of the result is the element of `from` at `offset` plus its index times `strides`.
std::optional<Elements> moved(mlir::Operation *op, const Elements &from, int64_t offset, llvm::ArrayRef<int64_t> strides) {
  Elements out{typeOf(op->getResult(0)), {}};
  if (from.splat()) {
    out.values = from.values;
    return out;
  }
  const int64_t n = out.type.getNumElements();
  if (n > kMostElements)
    return std::nullopt;
  const std::vector<int64_t> own = stridesOf(out.type.getShape());
  for (int64_t i = 0; i < n; ++i) {
    int64_t at = offset;
    for (size_t d = 0; d < own.size(); ++d)
      at += i / own[d] % out.type.getDimSize(static_cast<int64_t>(d)) * strides[d];
    out.values.push_back(from.at(at));
  }
  return out;
}

std::optional<Elements> concatenated(mlir::Operation *op, In in, int64_t dim) {
  Elements out{typeOf(op->getResult(0)), {}};
  const int64_t n = out.type.getNumElements();
  if (n > kMostElements)
    return std::nullopt;
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < out.type.getRank(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : out.type.getDimSize(d);
  for (int64_t o = 0; o < outer; ++o)
    for (const Elements &e : in) {
      const int64_t run = e.type.getDimSize(dim) * inner;
      for (int64_t i = 0; i < run; ++i)
        out.values.push_back(e.at(o * run + i));
    }
  return out;
}

std::optional<Elements> movement(mlir::Operation *op, In in) {
  const Elements &x = in[0];
  std::vector<int64_t> strides = stridesOf(x.type.getShape());
  if (opName(op) == "reshape") {
    Elements out{typeOf(op->getResult(0)), x.values};
    return out;
  }
  if (auto b = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    std::vector<int64_t> to(static_cast<size_t>(typeOf(op->getResult(0)).getRank()), 0);
    for (size_t d = 0; d < strides.size(); ++d)
      if (x.type.getDimSize(static_cast<int64_t>(d)) != 1)
        to[static_cast<size_t>(b.getBroadcastDimensions()[d])] = strides[d];
    return moved(op, x, 0, to);
  }
  if (auto t = llvm::dyn_cast<graph::TransposeOp>(op)) {
    std::vector<int64_t> to;
    for (int64_t d : t.getPermutation())
      to.push_back(strides[static_cast<size_t>(d)]);
    return moved(op, x, 0, to);
  }
  if (auto s = llvm::dyn_cast<graph::SliceOp>(op)) {
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); ++d) {
      offset += s.getStartIndices()[d] * strides[d];
      strides[d] *= s.getStrides()[d];
    }
    return moved(op, x, offset, strides);
  }
  if (auto r = llvm::dyn_cast<graph::ReverseOp>(op)) {
    int64_t offset = 0;
    for (int64_t d : r.getDimensions()) {
      offset += (x.type.getDimSize(d) - 1) * strides[static_cast<size_t>(d)];
      strides[static_cast<size_t>(d)] *= -1;
    }
    return moved(op, x, offset, strides);
  }
  if (auto c = llvm::dyn_cast<graph::ConcatenateOp>(op))
    return concatenated(op, in, static_cast<int64_t>(c.getDimension()));
  return std::nullopt;
}

// One number many times over: combined by doubling, in double as sums are on the device and in the reference.
std::optional<Elements> reduced(mlir::Operation *op, In in) {
  if (opName(op) != "reduce" || in.size() != 2 || !in[0].splat() || !in[1].splat())
    return std::nullopt;
  mlir::Block &body = op->getRegion(0).front();
  const Pair pair = body.getOperations().size() == 2 ? findBinary(&body.front()) : nullptr;
  static constexpr llvm::StringLiteral kAssociative[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  if (!pair || !llvm::is_contained(kAssociative, opName(&body.front())))
    return std::nullopt;
  Elements out{typeOf(op->getResult(0)), {}};
  const mlir::Type element = out.type.getElementType();
  const Kind k = kindOf(element);
  const auto combine = [&](const Number &a, const Number &b) {
    const Number n = pair(k, a, b);
    return k.isFloat ? n : wrapped(element, n);
  };
  Number power = in[0].values[0], all = in[1].values[0];
  for (int64_t n = in[0].type.getNumElements() / out.type.getNumElements(); n > 0; n /= 2) {
    if (n % 2 != 0)
      all = combine(all, power);
    power = combine(power, power);
  }
  out.values.push_back(wrapped(element, all));
  return out;
}

// Windows that grow from one end: running sums and the like, in double as those of the reference, each rounded once.
std::optional<Elements> accumulated(mlir::Operation *op, In in) {
  auto window = llvm::dyn_cast<graph::ReduceWindowOp>(op);
  if (!window || in.size() != 2 || !in[1].splat())
    return std::nullopt;
  mlir::Block &body = op->getRegion(0).front();
  const Pair pair = body.getOperations().size() == 2 ? findBinary(&body.front()) : nullptr;
  const std::optional<WindowScan> scan = scanOf(windowDims(op, op->getOperand(0), op->getResult(0)));
  static constexpr llvm::StringLiteral kCommutative[] = {"add", "multiply", "maximum", "minimum", "and", "or", "xor"};
  Elements out{typeOf(op->getResult(0)), {}};
  const int64_t n = out.type.getNumElements();
  if (!pair || !scan || n > kMostElements || !llvm::is_contained(kCommutative, opName(&body.front())))
    return std::nullopt;
  const mlir::Type element = out.type.getElementType();
  const Kind k = kindOf(element);
  const Number start = in[1].values[0];
  if (const Number twice = wrapped(element, pair(k, start, start)); twice.i != start.i || !(twice.f == start.f))
    return std::nullopt; // the padding counts
  out.values.resize(static_cast<size_t>(n));
  for (int64_t o = 0; o < scan->outer; ++o)
    for (int64_t i = 0; i < scan->inner; ++i) {
      Number sum = start;
      for (int64_t t = 0; t < scan->length; ++t) {
        const int64_t at = (o * scan->length + (scan->backward ? scan->length - 1 - t : t)) * scan->inner + i;
        sum = pair(k, sum, in[0].at(at));
        if (!k.isFloat)
          sum = wrapped(element, sum);
        out.values[static_cast<size_t>(at)] = wrapped(element, sum);
      }
    }
  return out;
}

bool isKnown(mlir::Operation *op) {
  static constexpr llvm::StringLiteral kOthers[] = {"reduce",  "compare", "select",           "is_finite",
                                                    "convert", "reshape", "broadcast_in_dim", "transpose",
                                                    "slice",   "reverse", "concatenate",      "reduce_window"};
  if (op->getNumResults() != 1 || op->getNumOperands() == 0 ||
      !llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType()) ||
      !llvm::isa<mlir::RankedTensorType>(op->getOperand(0).getType()) || !isNumberType(elementOf(op->getResult(0))))
    return false;
  return llvm::is_contained(kOthers, opName(op)) || findBinary(op);
}

} // namespace

void foldConstants(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    const int64_t size = op->getNumResults() == 1 && llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType())
                             ? typeOf(op->getResult(0)).getNumElements()
                             : 0;
    if (!isKnown(op) || size == 0 ||
        !llvm::all_of(op->getOperands(), [](mlir::Value v) { return isConstant(v.getDefiningOp()); }))
      continue;
    std::vector<Elements> in;
    bool counts = true; // only counting: a view of it is cheaper than a constant
    for (mlir::Value v : op->getOperands()) {
      std::optional<Elements> e = elementsOf(v.getDefiningOp());
      if (!e)
        break;
      in.push_back(std::move(*e));
      counts &= opName(v.getDefiningOp()) == "iota";
    }
    if (in.size() != op->getNumOperands() || (counts && (opName(op) == "broadcast_in_dim" || opName(op) == "reshape")))
      continue;
    std::optional<Elements> made = pointwise(op, in);
    if (!made)
      made = movement(op, in);
    if (!made)
      made = reduced(op, in);
    if (!made)
      made = accumulated(op, in);
    if (!made)
      continue;
    GraphBuilder g(op);
    op->getResult(0).replaceAllUsesWith(g.constant(attributeOf(*made)));
    op->erase();
  }
}

} // namespace glia::emit
