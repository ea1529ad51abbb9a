#include "SimplifyIdentities.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace glia::emit {

namespace {

using Value = mlir::Value;

bool isFloat(Value v) { return llvm::isa<mlir::FloatType>(elementOf(v)); }
bool isPlain(mlir::Operation *op) { // one tensor made of tensors
  const auto tensor = [](mlir::Type t) { return llvm::isa<mlir::RankedTensorType>(t); };
  return op->getNumResults() == 1 && op->getNumOperands() > 0 && llvm::all_of(op->getResultTypes(), tensor) &&
         llvm::all_of(op->getOperandTypes(), tensor);
}
bool is(Value v, double number) {
  const std::optional<double> n = splatOf(v);
  return n && *n == number && std::signbit(*n) == std::signbit(number);
}
bool allBits(Value v) {
  const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(v));
  if (!t || t.getWidth() > 32)
    return false;
  return t.isUnsigned() || t.getWidth() == 1 ? is(v, std::ldexp(1.0, static_cast<int>(t.getWidth())) - 1) : is(v, -1);
}
mlir::Operation *maker(Value v, llvm::StringRef name) {
  mlir::Operation *op = v.getDefiningOp();
  return op && opName(op) == name ? op : nullptr;
}

// A number that changes nothing on one side, or decides alone.
Value arithmetic(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  if (op->getNumOperands() != 2)
    return {};
  const Value a = op->getOperand(0), b = op->getOperand(1);
  const bool floats = isFloat(a), logical = elementOf(a).isInteger(1);
  if (name == "add") {
    const double zero = floats ? -0.0 : 0; // +0 would turn -0 into +0
    return is(b, zero) ? a : is(a, zero) ? b : Value();
  }
  if (name == "subtract" || name.starts_with("shift"))
    return is(b, 0) ? a : Value();
  if (name == "multiply") {
    if (!floats && !logical && is(a, 0))
      return a;
    if (!floats && !logical && is(b, 0))
      return b;
    return is(b, 1) ? a : is(a, 1) ? b : Value();
  }
  if (name == "divide")
    return is(b, 1) ? a : Value();
  if (floats && (name == "maximum" || name == "minimum")) {
    const double end = std::copysign(std::numeric_limits<double>::infinity(), name == "maximum" ? -1 : 1);
    return is(b, end) ? a : is(a, end) ? b : Value();
  }
  if (name == "or" || name == "xor") {
    if (name == "or" && a == b)
      return a;
    return is(b, 0) ? a : is(a, 0) ? b : Value();
  }
  if (name == "and")
    return a == b || allBits(b) || is(a, 0) ? a : allBits(a) || is(b, 0) ? b : Value();
  return {};
}

// A rotation is an `or` of two shifts that share no bit: as a sum GpSimd does it, while Vector, which has all the shifts, goes on.
Value rotation(mlir::Operation *op) {
  const auto t = llvm::dyn_cast<mlir::IntegerType>(elementOf(op->getResult(0)));
  if (opName(op) != "or" || !t || t.getWidth() != 32)
    return {};
  mlir::Operation *left = maker(op->getOperand(0), "shift_left"), *right = maker(op->getOperand(1), "shift_right_logical");
  if (!left || !right) {
    left = maker(op->getOperand(1), "shift_left");
    right = maker(op->getOperand(0), "shift_right_logical");
  }
  if (!left || !right)
    return {};
  const std::optional<double> up = splatOf(left->getOperand(1)), down = splatOf(right->getOperand(1));
  if (!up || !down || *up < 0 || *down < 0 || *up > 32 || *down > 32 || *up + *down < 32)
    return {};
  GraphBuilder g(op);
  return g.add(op->getOperand(0), op->getOperand(1));
}

// Twice is not at all.
Value involution(mlir::Operation *op) {
  const llvm::StringRef name = opName(op);
  if (name == "not" || name == "negate")
    if (mlir::Operation *inner = maker(op->getOperand(0), name))
      return inner->getOperand(0);
  if (name == "reverse")
    if (mlir::Operation *inner = maker(op->getOperand(0), name))
      if (llvm::cast<graph::ReverseOp>(inner).getDimensions() == llvm::cast<graph::ReverseOp>(op).getDimensions())
        return inner->getOperand(0);
  return {};
}

// Every value of `from` is one of `to`.
bool holds(mlir::Type to, mlir::Type from) {
  const auto fi = llvm::dyn_cast<mlir::IntegerType>(from), ti = llvm::dyn_cast<mlir::IntegerType>(to);
  const auto unsignedBits = [](mlir::IntegerType t) { return t.isUnsigned() || t.getWidth() == 1; };
  if (fi && ti)
    return unsignedBits(fi) ? ti.getWidth() > fi.getWidth() || (unsignedBits(ti) && ti.getWidth() == fi.getWidth())
                            : !unsignedBits(ti) && ti.getWidth() >= fi.getWidth();
  return (from.isBF16() || from.isF16()) && (to.isF32() || to.isF64() || from == to);
}

Value conversion(mlir::Operation *op) {
  const Value x = op->getOperand(0), y = op->getResult(0);
  if (x.getType() == y.getType())
    return x;
  // There and back through a type that holds everything.
  if (mlir::Operation *inner = maker(x, "convert"))
    if (inner->getOperand(0).getType() == y.getType() && !elementOf(y).isInteger(1) && holds(elementOf(x), elementOf(y)))
      return inner->getOperand(0);
  return {};
}

Value movement(mlir::Operation *op) {
  const Value x = op->getOperand(0), y = op->getResult(0);
  GraphBuilder g(op);
  if (auto t = llvm::dyn_cast<graph::TransposeOp>(op)) {
    std::vector<int64_t> order(t.getPermutation().begin(), t.getPermutation().end());
    if (std::is_sorted(order.begin(), order.end()))
      return x;
    mlir::Operation *inner = maker(x, "transpose");
    if (!inner)
      return {};
    for (int64_t &d : order)
      d = llvm::cast<graph::TransposeOp>(inner).getPermutation()[static_cast<size_t>(d)];
    return std::is_sorted(order.begin(), order.end())
               ? inner->getOperand(0)
               : g.make("transpose", {inner->getOperand(0)}, y.getType(),
                        {g.b.getNamedAttr("permutation", g.b.getDenseI64ArrayAttr(order))});
  }
  if (opName(op) == "reshape") {
    mlir::Operation *inner = maker(x, "reshape");
    const Value from = inner ? inner->getOperand(0) : x;
    if (from.getType() == y.getType())
      return from;
    return inner ? g.reshape(from, typeOf(y).getShape()) : Value();
  }
  if (auto b = llvm::dyn_cast<graph::BroadcastInDimOp>(op)) {
    const auto dims = b.getBroadcastDimensions();
    if (x.getType() == y.getType() && std::is_sorted(dims.begin(), dims.end()))
      return x;
    auto inner = llvm::dyn_cast_or_null<graph::BroadcastInDimOp>(x.getDefiningOp());
    if (!inner)
      return {};
    std::vector<int64_t> both;
    for (int64_t d : inner.getBroadcastDimensions())
      both.push_back(dims[static_cast<size_t>(d)]);
    return g.broadcast(inner->getOperand(0), both, typeOf(y));
  }
  if (auto s = llvm::dyn_cast<graph::SliceOp>(op)) {
    if (x.getType() == y.getType())
      return x;
    auto inner = llvm::dyn_cast_or_null<graph::SliceOp>(x.getDefiningOp());
    if (!inner)
      return {};
    std::vector<int64_t> from, to, step;
    for (size_t d = 0; d < s.getStrides().size(); ++d) {
      const int64_t base = inner.getStartIndices()[d], by = inner.getStrides()[d];
      from.push_back(base + s.getStartIndices()[d] * by);
      step.push_back(s.getStrides()[d] * by);
      const int64_t n = typeOf(y).getDimSize(static_cast<int64_t>(d));
      to.push_back(n ? from.back() + (n - 1) * step.back() + 1 : from.back());
    }
    return g.slice(inner->getOperand(0), from, to, step);
  }
  if (opName(op) == "concatenate")
    return op->getNumOperands() == 1 ? x : Value();
  if (auto p = llvm::dyn_cast<graph::PadOp>(op)) {
    const auto none = [](llvm::ArrayRef<int64_t> n) { return llvm::all_of(n, [](int64_t i) { return i == 0; }); };
    return none(p.getEdgePaddingLow()) && none(p.getEdgePaddingHigh()) && x.getType() == y.getType() ? x : Value();
  }
  if (auto r = llvm::dyn_cast<graph::ReverseOp>(op))
    return llvm::all_of(r.getDimensions(), [&](int64_t d) { return typeOf(x).getDimSize(d) == 1; }) ? x : Value();
  return {};
}

Value selection(mlir::Operation *op) {
  const Value a = op->getOperand(1), b = op->getOperand(2);
  const std::optional<double> where = splatOf(op->getOperand(0));
  return where ? (*where != 0 ? a : b) : a == b ? a : Value();
}

// Custom calls that tell a partitioner something: on one device they give back what they get.
Value hint(mlir::Operation *op) {
  static constexpr llvm::StringLiteral kHints[] = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape",
                                                   "LayoutConstraint", "annotate_device_placement"};
  const auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name");
  return target && llvm::is_contained(kHints, target.getValue()) && op->getOperandTypes() == op->getResultTypes()
             ? op->getOperand(0)
             : Value();
}

Value simpler(mlir::Operation *op) {
  if (!isPlain(op))
    return {};
  const llvm::StringRef name = opName(op);
  if (name == "convert" || name == "bitcast_convert")
    return name == "convert" || op->getOperand(0).getType() == op->getResult(0).getType() ? conversion(op) : Value();
  if (name == "select")
    return selection(op);
  if (name == "custom_call")
    return hint(op);
  if (const Value v = arithmetic(op); v && v.getType() == op->getResult(0).getType())
    return v;
  if (const Value v = involution(op))
    return v;
  if (const Value v = rotation(op))
    return v;
  return movement(op);
}

} // namespace

void simplifyIdentities(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (const Value v = simpler(op); v && v != op->getResult(0)) {
      op->getResult(0).replaceAllUsesWith(v);
      op->erase();
    }
}

} // namespace glia::emit
