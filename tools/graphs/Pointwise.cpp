// Element by element: floats, integers, truth values, comparisons and conversions.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

bool realValue(const Value &v) { return v.type.isFloat() && v.trust != Trust::Decided; }
bool exactReal(const Value &v) { return v.type.isFloat() && v.trust == Trust::Exact; }
bool exactInteger(const Value &v) { return v.type.isInteger() && v.trust == Trust::Exact; }

struct Function {
  const char *name;
  enum Domain : uint8_t { Any, Exact, Unit, Small, NotNegative, Positive, Above } domain; // Exact: it jumps
  bool rounds;
  double (*bound)(double);
};

double one(double) { return 1; }
double itself(double b) { return b; }

const std::vector<Function> &functions() {
  static const std::vector<Function> all = {
      {"negate", Function::Any, false, itself},
      {"abs", Function::Any, false, itself},
      {"tanh", Function::Any, true, one},
      {"logistic", Function::Any, true, one},
      {"sine", Function::Any, true, one},
      {"cosine", Function::Any, true, one},
      {"exponential", Function::Small, true, [](double b) { return std::exp(b); }},
      {"exponential_minus_one", Function::Small, true, [](double b) { return std::exp(b); }},
      {"log", Function::Positive, true, [](double b) { return std::log(b + 4); }},
      {"log_plus_one", Function::NotNegative, true, [](double b) { return std::log(b + 2); }},
      {"sqrt", Function::NotNegative, true, [](double b) { return std::sqrt(b); }},
      {"rsqrt", Function::Positive, true, [](double) { return 2.0; }},
      {"cbrt", Function::Any, true, [](double b) { return std::cbrt(b); }},
      {"tan", Function::Unit, true, [](double) { return 2.0; }},
      {"chlo.erf", Function::Any, true, one},
      {"chlo.erfc", Function::Small, true, [](double) { return 2.0; }},
      {"chlo.sinh", Function::Small, true, [](double b) { return std::sinh(b); }},
      {"chlo.asinh", Function::Any, true, [](double b) { return std::asinh(b); }},
      {"chlo.atan", Function::Any, true, [](double) { return 1.6; }},
      {"chlo.asin", Function::Unit, true, [](double) { return 1.6; }},
      {"chlo.acos", Function::Unit, true, [](double) { return 2.7; }},
      {"chlo.acosh", Function::Above, true, [](double b) { return std::acosh(b + 4); }},
      {"chlo.atanh", Function::Unit, true, [](double) { return 1.4; }},
      {"chlo.cosh", Function::Small, true, [](double b) { return std::cosh(b); }},
      {"chlo.erf_inv", Function::Unit, true, [](double) { return 1.1; }},
      {"chlo.square", Function::Any, true, [](double b) { return b * b; }},
      {"floor", Function::Exact, false, [](double b) { return b + 1; }},
      {"ceil", Function::Exact, false, [](double b) { return b + 1; }},
      {"round_nearest_even", Function::Exact, false, [](double b) { return b + 1; }},
      {"round_nearest_afz", Function::Exact, false, [](double b) { return b + 1; }},
      {"sign", Function::Exact, false, one},
  };
  return all;
}

// |v| + 1/4 or |v|.
Value positive(Generator &g, const Value &v, bool notZero) {
  const Value a = g.same("abs", {v}, v.trust, v.bound);
  return notZero ? g.same("add", {a, g.splat(v.type, v.shape, 0.25)}, v.trust, v.bound + 0.25) : a;
}

bool unaryFunction(Generator &g) {
  const Function &f = g.r.pick(functions());
  if (g.leftOut(f.name))
    return false;
  Value v = g.some(f.domain == Function::Exact ? exactReal : realValue, [&] { return g.floatType(); });
  if (f.domain == Function::Exact && v.trust != Trust::Exact)
    v = g.argument(v.type, v.shape);
  if (f.domain == Function::Small || f.domain == Function::Unit)
    v = g.clamped(v, f.domain == Function::Unit ? 0.875 : 3);
  if (f.domain == Function::NotNegative || f.domain == Function::Positive)
    v = positive(g, v, f.domain == Function::Positive);
  if (f.domain == Function::Above) // from 1.25 on
    v = g.same("add", {positive(g, v, true), g.splat(v.type, v.shape, 1)}, v.trust, v.bound + 1.25);
  const Trust trust = f.rounds ? Trust::Rounded : v.trust;
  const std::string name = f.name;
  if (name.rfind("chlo.", 0) == 0)
    g.keepScaled(
        g.put(name + " " + v.name + " : " + v.text() + " -> " + v.text(), v.type, v.shape, trust, f.bound(v.bound)));
  else
    g.keepScaled(g.same(name, {v}, trust, f.bound(v.bound)));
  return true;
}

bool binaryFunction(Generator &g) {
  static const std::vector<const char *> names = {"add",      "add",      "add",      "subtract", "subtract",
                                                  "multiply", "multiply", "multiply", "maximum",  "minimum",
                                                  "divide",   "power",    "atan2",    "remainder"};
  const std::string op = g.r.pick(names);
  if (g.leftOut(op))
    return false;
  const bool jumps = op == "remainder";
  Value a = g.some(jumps ? exactReal : realValue, [&] { return g.floatType(); });
  if (jumps && a.trust != Trust::Exact)
    a = g.argument(a.type, a.shape);
  Value b = g.r.chance(12) && op != "power" && op != "divide" && op != "atan2" ? g.constant(a.type, a.shape, true)
                                                                               : g.of(a.type, a.shape);
  if (g.r.chance(50))
    std::swap(a, b);
  if (jumps) { // by a number, not near a multiple of a rounded one
    if (a.trust != Trust::Exact)
      std::swap(a, b);
    b = g.splat(a.type, a.shape, static_cast<double>(g.r.between(1, 12)) / 4);
  }
  if (op == "power") {
    a = positive(g, g.clamped(a, 3), true);
    b = g.clamped(b, 2);
  }
  if (op == "divide" || op == "atan2") // atan2 jumps on the negative axis
    b = positive(g, b, true);
  const Trust trust = Generator::worst(a.trust, b.trust);
  const bool rounds = op == "divide" || op == "power" || op == "atan2";
  const double bound = op == "multiply"               ? a.bound * b.bound
                       : op == "divide"               ? a.bound * 4
                       : op == "power"                ? 12
                       : op == "atan2"                ? 3.2
                       : op == "remainder"            ? b.bound
                       : op[1] == 'a' || op[1] == 'i' ? std::max(a.bound, b.bound)
                                                      : a.bound + b.bound;
  g.keepScaled(g.same(op, {a, b}, rounds ? Trust::Rounded : trust, bound));
  return true;
}

} // namespace

bool Generator::pointwise() {
  const int64_t what = r.below(100);
  if (what < 94)
    return what < 45 ? unaryFunction(*this) : binaryFunction(*this);
  const std::optional<Value> v = find(what == 94 ? exactReal : realValue); // the narrower format jumps
  if (!v)
    return false;
  if (what == 94) {
    keep(put("stablehlo.reduce_precision " + v->name + ", format = e5m3 : " + v->text(), v->type, v->shape, v->trust,
             v->bound));
    return true;
  }
  const Shape shape = r.chance(70) ? Shape() : v->shape; // of the limits
  const Value lo =
      r.chance(70) ? splat(v->type, shape, static_cast<double>(r.between(-8, 0)) / 4) : constant(v->type, shape);
  const Value hi = splat(v->type, shape, static_cast<double>(r.between(1, 8)) / 4);
  keep(arrow("clamp", {lo, *v, hi}, "", v->type, v->shape, v->trust, 2));
  return true;
}

bool Generator::integer() {
  static const std::vector<const char *> logic = {"and", "or", "xor", "not"};
  if (r.chance(15)) {
    const auto wanted = [](const Value &v) { return v.type.isPred() && v.trust == Trust::Exact; };
    const std::optional<Value> a = find(wanted);
    if (!a)
      return false;
    const std::string op = r.pick(logic);
    keep(op == "not" ? same(op, {*a}, a->trust, 1) : same(op, {*a, of(kI1, a->shape)}, a->trust, 1));
    return true;
  }
  const Value a = some(exactInteger, [&] { return integerType(); });
  if (a.trust != Trust::Exact)
    return false;
  const bool sign = a.type.kind == Type::Signed;
  static const std::vector<const char *> unary = {"negate", "not", "popcnt", "count_leading_zeros", "abs", "sign"};
  static const std::vector<const char *> binary = {"add",
                                                   "add",
                                                   "subtract",
                                                   "multiply",
                                                   "maximum",
                                                   "minimum",
                                                   "and",
                                                   "or",
                                                   "xor",
                                                   "divide",
                                                   "remainder",
                                                   "shift_left",
                                                   "shift_right_logical",
                                                   "shift_right_arithmetic",
                                                   "power"};
  if (r.chance(25)) {
    const std::string op = r.pick(unary);
    if (!sign && (op == "abs" || op == "sign"))
      return false;
    keep(same(op, {a}, Trust::Exact, 1));
    return true;
  }
  const std::string op = r.pick(binary);
  const bool shift = op.rfind("shift", 0) == 0;
  const Value b = shift && r.chance(70)              ? integers(a.type, a.shape, 0, a.type.bits)
                  : op == "power"                    ? integers(a.type, a.shape, 0, 6)
                  : op == "multiply" && r.chance(50) ? splat(a.type, a.shape, a.type.bits == 8 ? 37 : 30011) // wraps
                                                     : of(a.type, a.shape);
  if (b.trust != Trust::Exact)
    return false;
  keep(same(op, {a, b}, Trust::Exact, 1));
  return true;
}

bool Generator::compareSelect() {
  static const std::vector<const char *> directions = {"EQ", "NE", "LT", "LE", "GT", "GE"};
  // A truth value.
  const auto exact = [](const Value &v) { return v.trust == Trust::Exact && !v.type.isPred() && !v.type.isSmall(); };
  const auto rounded = [](const Value &v) { return v.trust == Trust::Rounded && v.type.isFloat(); };
  const bool decides = r.chance(10);
  Value a = some(decides ? Wanted(rounded) : Wanted(exact), [&] { return floatType(); });
  Value b = r.chance(20) && a.type.isFloat() ? constant(a.type, a.shape, true) : of(a.type, a.shape);
  if (!decides && (a.trust != Trust::Exact || b.trust != Trust::Exact)) {
    a = argument(a.type, a.shape);
    b = splat(a.type, a.shape, 0);
  }
  const Trust trust = a.trust == Trust::Exact && b.trust == Trust::Exact ? Trust::Exact : Trust::Decided;
  const std::string direction = r.pick(directions);
  const Value p = arrow("compare " + direction + ",", {a, b}, "", kI1, a.shape, trust, 1);
  // "compare LT, %a, %b : (types) -> type" has a comma more than others, in its name.
  keep(p);
  if (trust == Trust::Decided || r.chance(25))
    return true;
  const auto fits = [&](const Value &v) { return v.shape == a.shape && v.trust != Trust::Decided && !v.type.isPred(); };
  const Value x = find(fits).value_or(a);
  const Value y = x.type.isFloat() && r.chance(25) ? constant(x.type, x.shape, true) : of(x.type, x.shape);
  Value which = p;
  if (r.chance(15)) {
    const std::optional<Value> scalar =
        find([](const Value &v) { return v.type.isPred() && v.shape.empty() && v.trust == Trust::Exact; });
    which = scalar.value_or(p);
  }
  const bool swap = r.chance(50);
  const Value &first = swap ? y : x, &second = swap ? x : y;
  keepScaled(
      put("stablehlo.select " + which.name + ", " + first.name + ", " + second.name + " : " + which.text() + ", " + x.text(),
          x.type, x.shape, worst(x.trust, y.trust), std::max(x.bound, y.bound)));
  return true;
}

// An 8-bit float, of something exact: what rounds there, rounds the same everywhere.
bool Generator::narrow() {
  const std::optional<Value> v = find([](const Value &v) { return exactReal(v) && v.elements() > 0; });
  if (!v)
    return false;
  const Value limited = clamped(*v, 200);
  keep(arrow("convert", {limited}, "",
             r.chance(8)    ? kE4M3FN
             : r.chance(60) ? kE4M3
                            : kE5M2,
             v->shape, Trust::Exact, limited.bound));
  return true;
}

bool Generator::convert() {
  const std::optional<Value> from = find([](const Value &v) { return v.trust != Trust::Decided; });
  if (!from)
    return false;
  const Type to = anyType();
  Value v = *from;
  if (to == v.type || (v.trust == Trust::Rounded && !to.isFloat()))
    return false;
  if (v.name[1] == 'a' && v.type.isFloat() &&
      r.chance(30)) { // the bits, of an argument: elsewhere zeros may have another sign
    const Type bits = v.type.bits == 32 ? (r.chance(50) ? kI32 : kU32) : (r.chance(50) ? kI16 : kU16);
    keep(arrow("bitcast_convert", {v}, "", bits, v.shape, Trust::Exact, 1));
    return true;
  }
  if (v.type.isFloat() && r.chance(10)) {
    keep(arrow("is_finite", {v}, "", kI1, v.shape, v.trust == Trust::Exact ? Trust::Exact : Trust::Decided, 1));
    return true;
  }
  double bound = v.bound;
  if (to.isFloat() && v.type.isInteger()) {
    if (!(to == kF32 && v.type.bits == 32 && r.chance(25))) {
      v = same("and", {v, splat(v.type, v.shape, 63)}, v.trust, 1);
      bound = 63;
    } else {
      bound = 4e9;
    }
  } else if (v.type.isPred()) {
    bound = 1;
  }
  // From a float to a narrower one is one rounding, the same everywhere; from an integer there may be two.
  keepScaled(arrow("convert", {v}, "", to, v.shape, v.trust, bound));
  return true;
}

} // namespace glia::graphs
