#include "SmallAngles.h"
#include "GraphBuilder.h"
#include "ValueRanges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

constexpr llvm::StringLiteral kSmall = "glia.small_angle", kExact = "glia.exact";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where the elements of a value are that are numbers and not infinite.
struct Span {
  double low = -kInfinity, high = kInfinity;
  bool finite = false; // no element is infinite, so that it bounds what is compared with it
};

Span together(const Span &a, const Span &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.finite && b.finite};
}

Span product(const Span &a, const Span &b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const double all[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
  return {*std::min_element(all, all + 4), *std::max_element(all, all + 4), a.finite && b.finite};
}

bool isRounding(llvm::StringRef name) { return name == "floor" || name == "ceil" || name.starts_with("round_nearest"); }
bool isWholePart(mlir::Value v, mlir::Value of) {
  mlir::Operation *op = v.getDefiningOp();
  return op && isRounding(opName(op)) && op->getOperand(0) == of;
}

// A result is rounded, at worst to 3 bits of mantissa, and may become infinite by it.
Span rounded(const Span &s, mlir::Type t) {
  const auto wider = [](double x, double away) { return x + std::fabs(x) * 0.125 * away; };
  const double low = wider(s.low, -1), high = wider(s.high, 1),
               most = t.isF32() || t.isBF16() ? 1e38
                      : t.isF16()             ? 6e4
                                              : 100;
  return {low, high, s.finite && -most < low && high < most};
}

Span inside(const Span &a, const Span &b) { return {std::max(a.low, b.low), std::min(a.high, b.high), a.finite}; }

Span ofType(mlir::Type t) {
  auto f = llvm::cast<mlir::FloatType>(t);
  if (f.getWidth() > 16 || f.isBF16())
    return {};
  const double most = llvm::APFloat::getLargest(f.getFloatSemantics()).convertToDouble();
  return {-most, most};
}

class Spans {
public:
  void visit(mlir::Operation *op) {
    integers.visit(op);
    for (mlir::Value v : op->getResults())
      if (const auto t = llvm::dyn_cast<mlir::RankedTensorType>(v.getType());
          t && llvm::isa<mlir::FloatType>(t.getElementType()))
        known[v] = inside(made(op, t.getElementType()), ofType(t.getElementType()));
  }

  Span of(mlir::Value v) const {
    if (const auto it = known.find(v); it != known.end())
      return it->second;
    const mlir::Type t = elementOf(v);
    if (llvm::isa<mlir::FloatType>(t))
      return ofType(t);
    const std::optional<Range> r = llvm::isa<mlir::IntegerType>(t) ? integers.of(v) : std::nullopt;
    return r ? Span{static_cast<double>(r->low), static_cast<double>(r->high), true} : Span{};
  }

private:
  ValueRanges integers;
  llvm::DenseMap<mlir::Value, Span> known;

  static Span ofConstant(mlir::Operation *op) {
    const auto value = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(op->getAttr("value"));
    if (!value || value.getNumElements() == 0 || !llvm::isa<mlir::FloatType>(value.getElementType()))
      return {};
    Span s{kInfinity, -kInfinity, true};
    for (const llvm::APFloat &n : value.getValues<llvm::APFloat>()) {
      if (n.isFinite())
        s = together(s, {n.convertToDouble(), n.convertToDouble(), true});
      s.finite &= !n.isInfinity();
      if (value.isSplat())
        break;
    }
    return s.low <= s.high ? s : Span{0, 0, s.finite};
  }

  Span made(mlir::Operation *op, mlir::Type type) const {
    const llvm::StringRef name = opName(op);
    static constexpr llvm::StringLiteral kSame[] = {"broadcast_in_dim", "reshape",       "transpose", "slice",  "reverse",
                                                    "broadcast",        "dynamic_slice", "gather",    "convert"};
    static constexpr llvm::StringLiteral kUnit[] = {"tanh", "sine", "cosine", "sign", "logistic", "erf"};
    if (name == "constant")
      return ofConstant(op);
    if (auto iota = llvm::dyn_cast<graph::IotaOp>(op)) {
      const auto t = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
      return rounded({0, static_cast<double>(t.getDimSize(static_cast<int64_t>(iota.getIotaDimension()))), true}, type);
    }
    if (op->getNumOperands() == 0 || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
        !llvm::all_of(op->getOperandTypes(), llvm::IsaPred<mlir::RankedTensorType>))
      return {};
    if (llvm::is_contained(kUnit, name))
      return rounded({-1, 1, true}, type);
    const Span a = of(op->getOperand(0));
    if (llvm::is_contained(kSame, name))
      return rounded(a, type);
    if (name == "negate")
      return {-a.high, -a.low, a.finite};
    if (name == "abs")
      return {0, std::max(std::fabs(a.low), std::fabs(a.high)), a.finite};
    if (name == "exponential")
      return rounded({a.finite ? std::exp(a.low) : 0, std::exp(a.high), a.finite}, type);
    if (name == "sqrt")
      return rounded({0, std::sqrt(std::max(a.high, 0.0)), a.finite}, type);
    if (isRounding(name))
      return {a.low - 1, a.high + 1, a.finite};
    if (name == "concatenate") {
      Span all = a;
      for (mlir::Value v : op->getOperands())
        all = together(all, of(v));
      return all;
    }
    if (op->getNumOperands() < 2)
      return {};
    const Span b = of(op->getOperand(1));
    if (name == "add")
      return rounded({a.low + b.low, a.high + b.high, a.finite && b.finite}, type);
    if (name == "subtract" && isWholePart(op->getOperand(1), op->getOperand(0)))
      return {-1, 1, true};
    if (name == "subtract")
      return rounded({a.low - b.high, a.high - b.low, a.finite && b.finite}, type);
    if (name == "multiply")
      return rounded(product(a, b), type);
    if (name == "power" && a.finite && b.finite && a.low > 0) {
      const double all[] = {std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low),
                            std::pow(a.high, b.high)};
      return rounded({std::min({all[0], all[1], all[2], all[3]}), std::max({all[0], all[1], all[2], all[3]}), true}, type);
    }
    if (name == "divide" && b.finite && (b.low > 0 || b.high < 0))
      return rounded(product(a, {1 / b.high, 1 / b.low, true}), type);
    if (name == "maximum" || name == "minimum") {
      const bool upper = name == "minimum";
      Span s = together(a, b);
      for (const Span &x : {a, b})
        if (x.finite)
          (upper ? s.high : s.low) = upper ? std::min(s.high, x.high) : std::max(s.low, x.low);
      return s;
    }
    if (name == "pad" || name == "dynamic_update_slice")
      return together(a, b);
    if (name == "select")
      return together(b, of(op->getOperand(2)));
    if (const Span high = name == "clamp" ? of(op->getOperand(2)) : Span{}; a.finite && high.finite)
      return together(a, high);
    if (name == "remainder" && b.finite) {
      const double most = std::max(std::fabs(b.low), std::fabs(b.high));
      return {-most, most, true};
    }
    return {};
  }
};

} // namespace

void requireExact(mlir::Operation *op) { op->setAttr(kExact, mlir::UnitAttr::get(op->getContext())); }
Angles anglesOf(mlir::Operation *op) {
  return !op->hasAttr(kSmall) ? Angles::Any : op->hasAttr(kExact) ? Angles::Near : Angles::Small;
}

void markSmallAngles(mlir::func::FuncOp main) {
  Spans spans;
  main.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (op == main)
      return;
    if (opName(op) == "sine" || opName(op) == "cosine") {
      const Span s = spans.of(op->getOperand(0));
      op->removeAttr(kSmall); // a text may bring one along
      if (const double most = op->hasAttr(kExact) ? kNearAngle : kSmallAngle; -most <= s.low && s.high <= most)
        op->setAttr(kSmall, mlir::UnitAttr::get(op->getContext()));
    }
    spans.visit(op);
  });
}

} // namespace glia::emit
