// Pointwise operations on a tile. The table says which kinds of elements an operation takes; each result is written in its own type,
// so it is rounded there.
#include "RowsLanes.h"
#include "FloatLanes.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "IntegerLanes.h"
#include "Graph/Analysis/SmallAngles.h"
#include "glia/ISA/AluRules.h"

#include <bit>
#include <cmath>

namespace glia::emit {

namespace {

enum Kinds : unsigned { kFloat = 1, kInteger = 2, kBool = 4, kNumber = 3, kAny = 7 };

enum class Form : uint8_t { Binary, Activation, Special };
struct Known {
  llvm::StringLiteral name;
  unsigned kinds; // of the first operand (select: of the result)
  Form form;
  std::string_view code; // alu_op or activation
};

constexpr Known kKnown[] = {
    {"add", kAny, Form::Binary, "add"},
    {"subtract", kNumber, Form::Binary, "subtract"},
    {"multiply", kAny, Form::Binary, "multiply"},
    {"maximum", kAny, Form::Binary, "max"},
    {"minimum", kAny, Form::Binary, "min"},
    {"and", kInteger | kBool, Form::Binary, "bitwise_and"},
    {"or", kInteger | kBool, Form::Binary, "bitwise_or"},
    {"xor", kInteger | kBool, Form::Binary, "bitwise_xor"},
    {"power", kNumber, Form::Special, ""},
    {"exponential", kFloat, Form::Activation, "exp"},
    {"log", kFloat, Form::Activation, "log"},
    {"tanh", kFloat, Form::Activation, "tanh"},
    {"sqrt", kFloat, Form::Activation, "sqrt"},
    {"erf", kFloat, Form::Activation, "erf"},
    {"gelu", kFloat, Form::Activation, "gelu"},
    {"gelu_apprx_tanh", kFloat, Form::Activation, "gelu_apprx_tanh"},
    {"softplus", kFloat, Form::Activation, "softplus"},
    {"sign", kNumber, Form::Activation, "sign"},
    {"divide", kNumber, Form::Special, ""},
    {"negate", kNumber, Form::Special, ""},
    {"abs", kNumber, Form::Special, ""},
    {"rsqrt", kFloat, Form::Special, ""},
    {"logistic", kFloat, Form::Special, ""},
    {"log_plus_one", kFloat, Form::Special, ""},
    {"exponential_minus_one", kFloat, Form::Special, ""},
    {"sine", kFloat, Form::Special, ""},
    {"cosine", kFloat, Form::Special, ""},
    {"floor", kFloat, Form::Special, ""},
    {"ceil", kFloat, Form::Special, ""},
    {"round_nearest_even", kFloat, Form::Special, ""},
    {"round_nearest_afz", kFloat, Form::Special, ""},
    {"square", kNumber, Form::Special, ""},
    {"is_finite", kFloat, Form::Special, ""},
    {"not", kInteger | kBool, Form::Special, ""},
    {"compare", kAny, Form::Special, ""},
    {"select", kAny, Form::Special, ""},
    {"clamp", kNumber, Form::Special, ""},
    {"convert", kAny, Form::Special, ""},
    {"atan", kFloat, Form::Special, ""},
    {"remainder", kNumber, Form::Special, ""},
    {"bitcast_convert", kNumber, Form::Special, ""},
    // of integers only: see IntegerLanes.h
    {"shift_left", kInteger, Form::Special, ""},
    {"shift_right_logical", kInteger, Form::Special, ""},
    {"shift_right_arithmetic", kInteger, Form::Special, ""},
    {"count_leading_zeros", kInteger, Form::Special, ""},
    {"popcnt", kInteger, Form::Special, ""},
};

const Known *find(llvm::StringRef name) {
  for (const Known &o : kKnown)
    if (o.name == name)
      return &o;
  return nullptr;
}

unsigned kindOf(mlir::Value v) {
  if (elementOf(v).isInteger(1))
    return kBool;
  return isFloat(*machineType(elementOf(v))) ? kFloat : kInteger;
}

} // namespace

std::string refusalOf(mlir::Operation *op) {
  for (mlir::Value v : op->getOperands())
    if (!llvm::isa<mlir::RankedTensorType>(v.getType()) || !machineType(elementOf(v)))
      return "the device does not hold its element type";
  for (mlir::Value v : op->getResults())
    if (!llvm::isa<mlir::RankedTensorType>(v.getType()) || !machineType(elementOf(v)))
      return "the device does not hold its element type";
  const Known *known = find(opName(op));
  if (!known)
    return "";
  const mlir::Value first = opName(op) == "select" ? op->getOperand(1) : op->getOperand(0);
  const unsigned kind = kindOf(first);
  if (!(known->kinds & kind))
    return kind == kBool ? "on i1" : kind == kFloat ? "on floats" : "on integers";
  if (opName(op) == "bitcast_convert" &&
      (kindOf(op->getResult(0)) == kBool || shapeOf(op->getOperand(0)) != shapeOf(op->getResult(0))))
    return "between types of different width";
  if (opName(op) == "compare" && comparisonOf(op).empty())
    return "the total order of floats";
  return "";
}

Tile RowsLanes::constant(DType t, double value, int64_t n) {
  const auto [it, fresh] = constants.try_emplace({t, std::bit_cast<uint64_t>(value)});
  if (fresh) {
    it->second = k.sbuf(t, 128, {1});
    k.fill(it->second, value);
  }
  return it->second.rows(0, nr).broadcast(0, n);
}

Tile RowsLanes::at(const Lane &v, int64_t n) {
  if (v.splat)
    return constant(v.type, *v.splat, n);
  return v.row && n != 1 ? v.tile.broadcast(0, n) : v.tile;
}

Tile RowsLanes::whole(const Lane &v) {
  const bool isRepeated = v.tile.dims.size() > 1; // RowsKernel::periodOf
  if (!v.splat && !isRepeated && (!v.row || nc == 1))
    return v.tile;
  const Tile out = make(v.type, nc);
  if (v.splat)
    k.fill(out, *v.splat);
  else
    k.move(out, full(v));
  return out;
}

// What an instruction with one number per row takes: fp32.
ScalarOperand RowsLanes::scalar(const Lane &v) {
  if (v.splat)
    return {*v.splat};
  if (v.tile.dtype == DType::F32)
    return {v.tile};
  const Tile t = make(DType::F32, 1);
  k.move(t, v.tile);
  return {t};
}

void RowsLanes::binary(const Tile &dst, const Lane &a, const Lane &b, std::string_view op) {
  const int64_t n = dst.elements();
  const bool narrowB = b.splat || (b.row && n > 1), narrowA = a.splat || (a.row && n > 1);
  if (op.starts_with("bitwise"))
    return bits(dst, a, b, op);
  const bool exact = (isWide(a.type) && isWide(dst.dtype)) || op == "power";
  if (!exact && narrowB && !a.splat)
    k.scalar(dst, at(a, n), op, scalar(b));
  else if (!exact && narrowA && !b.splat)
    k.scalar(dst, at(b, n), op, scalar(a), true);
  else
    k.tensor(dst, at(a, n), at(b, n), op);
}

void RowsLanes::bits(const Tile &dst, const Lane &a, const Lane &b, std::string_view op) {
  const int64_t n = dst.elements();
  const auto one = [&](const Lane &v) -> ScalarOperand {
    if (!v.splat)
      return {v.tile};
    if (std::fabs(*v.splat) < 0x1p24) // as 32 bits, of which a narrower type has the low ones
      return {*v.splat < 0 && sizeOf(v.type) < 4 ? *v.splat + std::ldexp(1.0, 8 * sizeOf(v.type)) : *v.splat};
    return {constant(v.type, *v.splat, 1)}; // fp32 does not hold it
  };
  if (b.splat || (b.row && n > 1))
    k.scalar(dst, at(a, n), op, one(b));
  else if (a.splat || (a.row && n > 1))
    k.scalar(dst, at(b, n), op, one(a), true);
  else
    k.tensor(dst, at(a, n), at(b, n), op);
}

void RowsLanes::divide(const Tile &dst, const Lane &a, const Lane &b) {
  const int64_t n = dst.elements();
  if (b.splat && std::isfinite(1 / *b.splat) && std::fabs(*b.splat) < 0x1p126)
    return k.scalar(dst, at(a, n), "multiply", 1 / *b.splat);
  if (a.splat && *a.splat == 1)
    return k.reciprocal(dst, at(b, n));
  Lane inverse;
  inverse.row = b.row || b.splat;
  inverse.tile = make(DType::F32, inverse.row ? 1 : n);
  k.reciprocal(inverse.tile, at(b, inverse.tile.elements()));
  binary(dst, a, inverse, "multiply");
}

void RowsLanes::compare(const Tile &dst, const Lane &a, const Lane &b, std::string_view op) {
  if (!isWide(a.type))
    return binary(dst, a, b, op);
  const Tile t = make(a.type, dst.elements());
  binary(t, a, b, op);
  k.move(dst, t);
}

// Whole numbers near |x|: adding and subtracting 2^23 rounds to nearest even. From 2^23 on, and for NaN, x stays.
void RowsLanes::round(const Tile &dst, const Lane &in, std::string_view how) {
  const int64_t n = dst.elements();
  const Tile x = make(DType::F32, n), size = make(DType::F32, n), r = make(DType::F32, n), fix = make(DType::F32, n),
             small = make(DType::U8, n);
  k.move(x, at(in, n));
  k.scalar(size, x, "abs", 0.0f);
  k.scalar(small, size, "less", 0x1p23f);
  k.scalar(r, size, "add", 0x1p23f, false, "subtract", 0x1p23f);
  if (how == "zero" || how == "away") {
    if (how == "zero") {
      k.tensor(fix, r, size, "greater");
      k.tensor(r, r, fix, "subtract");
    } else {
      k.tensor(fix, size, r, "subtract");
      k.scalar(fix, fix, "equal", 0.5f);
      k.tensor(r, r, fix, "add");
    }
  }
  const auto copySign = [&] {
    const Tile sign = make(DType::I32, n);
    k.scalar(sign, x.as(DType::I32), "bitwise_and", -0x1p31f);
    k.tensor(r.as(DType::I32), r.as(DType::I32), sign, "bitwise_or");
  };
  copySign();
  if (how == "down" || how == "up") {
    k.tensor(fix, r, x, how == "down" ? "greater" : "less");
    k.tensor(r, r, fix, how == "down" ? "subtract" : "add");
    copySign();
  }
  k.select(x, small, r);
  k.move(dst, x);
}

void RowsLanes::convert(const Tile &dst, const Lane &in, bool toBool, bool fromBool) {
  const int64_t n = dst.elements();
  const DType from = in.type, to = dst.dtype;
  if (toBool && !fromBool)
    return k.scalar(dst, at(in, n), "not_equal", 0.0f);
  if (from == to)
    return k.move(dst, at(in, n));
  if (isFloat(from) && !isFloat(to)) {
    const Tile t = make(DType::F32, n);
    round(t, in, "zero");
    return k.move(dst, t);
  }
  if (isFloat(to))
    return k.move(dst, at(in, n));
  if (sizeOf(from) == sizeOf(to))
    return k.move(dst.as(from), at(in, n));
  if (sizeOf(from) < sizeOf(to)) { // a wider integer of the source's sign, then its bits
    const DType same =
        sizeOf(to) == 4 ? (info(from).isSigned ? DType::I32 : DType::U32) : (info(from).isSigned ? DType::I16 : DType::U16);
    return k.move(dst.as(same), at(in, n));
  }
  lowBytes(k, dst, at(in, n));
}

// 1 / (1 + exp(scale x)) as exp(-log(1 + exp(scale x))): on the Scalar engine, which is faster than a reciprocal, with one table.
// The error is that of a logarithm of up to 40: enough for 16 bits.
void RowsLanes::sigmoidByExp(const Tile &dst, const Tile &x, float scale) {
  const Tile e = make(DType::F32, dst.elements()), l = make(DType::F32, dst.elements());
  k.activation(e, x, "exp", scale);
  k.activation(l, e, "log", 1.0f, ScalarOperand(constant(DType::F32, 1, 1)));
  k.activation(dst, l, "exp", -1.0f);
}

// tanh(x) = 1 - 2 / (1 + exp(2x)), which shares the table of exp; near 0, where the difference loses bits, it is x to 16 bits.
void RowsLanes::tanhByExp(const Tile &dst, const Tile &x) {
  const int64_t n = dst.elements();
  const Tile inside = make(DType::F32, n), s = make(DType::F32, n), small = make(DType::U8, n);
  k.scalar(inside, x, "max", -20.0f, false, "min", 20.0f); // beyond it is 1
  sigmoidByExp(s, inside, 2.0f);
  k.scalar(dst, s, "multiply", -2.0f, false, "add", 1.0f);
  k.scalar(small, x, "abs", 0.0f, false, "less", 0x1p-7f);
  k.select(dst, small, x);
}

void RowsLanes::logistic(const Tile &dst, const Tile &x) {
  if (!k.fewTables)
    return k.activation(dst, x, "sigmoid");
  if (sizeOf(dst.dtype) == 2) {
    const int64_t n = dst.elements();
    const Tile inside = make(DType::F32, n), low = make(dst.dtype, n), isLow = make(DType::U8, n);
    k.scalar(inside, x, "max", -40.0f);
    sigmoidByExp(dst, inside, -1.0f);
    k.activation(low, x, "exp"); // far below 0 it is exp(x)
    k.scalar(isLow, x, "less", -20.0f);
    return k.select(dst, isLow, low);
  }
  const Tile e = make(DType::F32, dst.elements());
  k.activation(e, x, "exp", -1.0f);
  k.scalar(e, e, "add", 1.0f);
  k.reciprocal(dst, e);
}

Lane RowsLanes::pointwise(mlir::Operation *op, llvm::ArrayRef<Lane> in) {
  const llvm::StringRef name = opName(op);
  const Known &known = *find(name);
  const mlir::Value result = op->getResult(0);
  const bool logical = kindOf(op->getOperand(0)) == kBool;
  Lane out;
  out.type = *machineType(elementOf(result));
  out.row = llvm::all_of(in, [](const Lane &v) { return v.row || v.splat; });
  const int64_t n = out.row ? 1 : nc;
  if (name == "bitcast_convert") { // another view of the same tile
    out.tile = at(in[0], n).as(out.type);
    return out;
  }
  const Tile dst = out.tile = make(out.type, n);
  const Lane &a = in[0];
  if (isIntegerOperation(op)) {
    integerPointwise(*this, op, in, dst);
  } else if (known.form == Form::Binary) {
    const std::string_view code = logical && name == "add"        ? "bitwise_or"
                                  : logical && name == "multiply" ? "bitwise_and"
                                                                  : known.code;
    binary(dst, a, in[1], code);
  } else if (name == "tanh" && sizeOf(out.type) == 2 && k.fewTables) {
    tanhByExp(dst, at(a, n));
  } else if (known.form == Form::Activation) {
    k.activation(dst, at(a, n), known.code);
  } else if (name == "power") {
    if (in[1].splat && *in[1].splat == 2)
      binary(dst, a, a, "multiply");
    else
      binary(dst, a, in[1], "power");
  } else if (name == "square") {
    binary(dst, a, a, "multiply");
  } else if (name == "divide") {
    divide(dst, a, in[1]);
  } else if (name == "negate") {
    k.scalar(dst, at(a, n), "multiply", -1.0f);
  } else if (name == "abs") {
    k.scalar(dst, at(a, n), "abs", 0.0f);
  } else if (name == "atan") {
    arcTangent(*this, dst, a);
  } else if (name == "remainder") {
    floatRemainder(*this, dst, a, in[1]);
  } else if (name == "rsqrt") {
    k.scalar(dst, at(a, n), "rsqrt", 0.0f);
  } else if (name == "logistic") {
    logistic(dst, at(a, n));
  } else if (name == "log_plus_one") {
    logPlusOne(*this, dst, at(a, n));
  } else if (name == "exponential_minus_one") {
    exponentialMinusOne(*this, dst, at(a, n));
  } else if (name == "sine" || name == "cosine") {
    sine(*this, dst, at(a, n), name == "cosine", anglesOf(op));
  } else if (name == "floor" || name == "ceil") {
    round(dst, a, name == "floor" ? "down" : "up");
  } else if (name == "round_nearest_even" || name == "round_nearest_afz") {
    round(dst, a, name == "round_nearest_even" ? "even" : "away");
  } else if (name == "is_finite") {
    k.scalar(dst, at(a, n), "abs", 0.0f, false, "less_equal", 3.40282347e38f);
  } else if (name == "not") {
    if (logical)
      k.scalar(dst, at(a, n), "bitwise_xor", 1.0f);
    else
      k.scalar(dst, at(a, n), "bitwise_not", 0.0f);
  } else if (name == "compare") {
    compare(dst, a, in[1], comparisonOf(op));
  } else if (name == "select") {
    k.move(dst, at(in[2], n));
    k.select(dst, at(a, n), at(in[1], n));
  } else if (name == "clamp") {
    const Tile t = make(out.type, n);
    binary(t, in[1], a, "max");
    Lane mid;
    mid.tile = t;
    mid.row = n == 1 && out.row;
    mid.type = out.type;
    binary(dst, mid, in[2], "min");
  } else {
    convert(dst, a, kindOf(result) == kBool, logical);
  }
  return out;
}

Lane RowsLanes::reduce(const Reduction &r, const Lane &v) {
  Lane out;
  out.row = true;
  out.type = r.type;
  out.tile = make(r.type, 1);
  const Tile data = full(v);
  const bool tree = isWide(r.type) && !r.op.starts_with("bitwise");
  if (!tree) {
    if (r.identity) {
      k.reduce(out.tile, data, r.op);
    } else {
      const Tile t = make(DType::F32, 1);
      k.reduce(t, data, r.op);
      k.scalar(out.tile, t, r.op, r.start);
    }
    return out;
  }
  // Integers of 32 bits: halves onto each other, exactly.
  int64_t n = nc;
  if (n == 1) {
    k.move(out.tile, data);
    return out;
  }
  const Tile t = make(r.type, (n + 1) / 2);
  Tile from = data;
  while (n > 1) {
    const int64_t half = n / 2;
    k.tensor(t.columns(0, half), from.columns(0, half), from.columns(n - half, half), r.op);
    if (n % 2 && from.handle != t.handle)
      k.move(t.columns(half, 1), from.columns(half, 1));
    n -= half;
    from = t;
  }
  k.move(out.tile, t.columns(0, 1));
  return out;
}

} // namespace glia::emit
