#include "Combine.h"
#include "IntegerLanes.h"

#include "llvm/ADT/StringSwitch.h"

#include <cmath>
#include <limits>

namespace glia::emit {

std::string_view combinerOf(llvm::StringRef name, bool logical) {
  if (logical)
    return llvm::StringSwitch<llvm::StringLiteral>(name)
        .Cases({"add", "or", "maximum"}, "max")
        .Cases({"multiply", "and", "minimum"}, "min")
        .Case("xor", "bitwise_xor")
        .Default("");
  return llvm::StringSwitch<llvm::StringLiteral>(name)
      .Case("add", "add")
      .Case("multiply", "multiply")
      .Case("maximum", "max")
      .Case("minimum", "min")
      .Case("and", "bitwise_and")
      .Case("or", "bitwise_or")
      .Case("xor", "bitwise_xor")
      .Default("");
}

double neutralOf(std::string_view op, DType t, bool logical) {
  if (logical)
    return op == "min";
  const int bits = 8 * sizeOf(t);
  const bool isSigned = info(t).isSigned;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (op == "max")
    return isFloat(t) ? -kInf : isSigned ? -std::ldexp(1.0, bits - 1) : 0;
  if (op == "min")
    return isFloat(t) ? kInf : std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
  if (op == "bitwise_and")
    return isSigned ? -1 : std::ldexp(1.0, bits) - 1;
  if (op == "bypass")
    return std::numeric_limits<double>::quiet_NaN();
  return op == "multiply" ? 1 : 0;
}

bool isNeutral(std::string_view op, double start, DType t, bool logical) {
  const double neutral = neutralOf(op, t, logical);
  if (!logical && op == "max")
    return start <= neutral;
  if (!logical && op == "min")
    return start >= neutral;
  return start == neutral;
}

std::string_view combinationOf(mlir::Block &body, bool logical, std::string &why) {
  const mlir::Value result = body.getTerminator()->getOperand(0);
  if (body.getNumArguments() == 2 && result == body.getArgument(1))
    return "bypass";
  mlir::Operation &inner = body.front();
  if (body.getOperations().size() != 2 || body.getNumArguments() != 2 || inner.getNumOperands() != 2 ||
      result != inner.getResult(0)) {
    why = "a body that is more than one operation of two values";
    return "";
  }
  const bool both = (inner.getOperand(0) == body.getArgument(0) && inner.getOperand(1) == body.getArgument(1)) ||
                    (inner.getOperand(0) == body.getArgument(1) && inner.getOperand(1) == body.getArgument(0));
  const std::string_view op = both ? combinerOf(opName(&inner), logical) : "";
  if (op.empty())
    why = "a body with `" + opName(&inner).str() + "`";
  return op;
}

std::optional<Combiner> combinerOf(mlir::Region &region, mlir::Type element, std::string &why) {
  const std::optional<DType> t = machineType(element);
  if (!t) {
    why = "the device does not hold its element type";
    return std::nullopt;
  }
  const bool logical = element.isInteger(1);
  const std::string_view op = combinationOf(region.front(), logical, why);
  return op.empty() ? std::nullopt : std::optional(Combiner{op, *t, logical});
}

namespace {

bool isNarrow(DType t) { return !isFloat(t) && sizeOf(t) < 4; }

} // namespace

DType sumType(const Combiner &c) {
  if (c.op != "add" && c.op != "multiply")
    return c.type;
  return isFloat(c.type) ? DType::F32 : isNarrow(c.type) ? DType::I32 : c.type;
}

Tile widened(KernelBuilder &k, const Combiner &c, const Tile &x) {
  if (!isNarrow(x.dtype) || sumType(c) != DType::I32)
    return x;
  const Tile w = k.sbuf(DType::I32, x.partitions, x.shape());
  k.move(w, x);
  return w;
}

Tile inType(KernelBuilder &k, const Tile &x, DType t) {
  if (x.dtype == t)
    return x;
  const Tile y = k.sbuf(t, x.partitions, x.shape());
  if (isFloat(t)) {
    k.move(y, x);
    return y;
  }
  lowBytes(k, y, x);
  return y;
}

void combine(KernelBuilder &k, const Combiner &c, const Tile &dst, const Tile &a, const Tile &b) {
  if (c.op == "bypass")
    return k.move(dst, b);
  if (!isNarrow(dst.dtype) || (c.op != "add" && c.op != "multiply"))
    return k.tensor(dst, a, b, c.op);
  const Tile x = widened(k, c, a), y = widened(k, c, b);
  k.tensor(x, x, y, c.op);
  lowBytes(k, dst, x);
}

} // namespace glia::emit
