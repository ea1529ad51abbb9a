#include "Generator.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

const Type kF32{"f32", Type::Float, 32}, kBF16{"bf16", Type::Float, 16}, kF16{"f16", Type::Float, 16};
const Type kI32{"i32", Type::Signed, 32}, kU32{"ui32", Type::Unsigned, 32}, kI16{"i16", Type::Signed, 16};
const Type kU16{"ui16", Type::Unsigned, 16}, kI8{"i8", Type::Signed, 8}, kU8{"ui8", Type::Unsigned, 8};
const Type kE4M3{"f8E4M3", Type::Small, 8}, kE4M3FN{"f8E4M3FN", Type::Small, 8}, kE5M2{"f8E5M2", Type::Small, 8};
const Type kI1{"i1", Type::Pred, 1};

namespace {

constexpr size_t kMostArguments = 6;
constexpr int64_t kMostNumbers = 2'500; // of a constant that is written out

std::string nested(const Shape &shape, size_t dim, const std::function<std::string()> &number) {
  if (dim == shape.size())
    return number();
  std::string out = "[";
  for (int64_t i = 0; i < shape[dim]; ++i)
    out += (i ? ", " : "") + nested(shape, dim + 1, number);
  return out + "]";
}

std::string numberText(Type t, double x) {
  if (t.isPred())
    return x != 0 ? "true" : "false";
  if (t.isInteger())
    return format("%lld", static_cast<long long>(x));
  if (std::isfinite(x))
    return format("%.9e", x);
  const char *const inf = t.bits == 32 ? "7F800000" : t == kBF16 ? "7F80" : "7C00";
  const char *const minus = t.bits == 32 ? "FF800000" : t == kBF16 ? "FF80" : "FC00";
  const char *const nan = t.bits == 32 ? "7FC00000" : t == kBF16 ? "7FC0" : "7E00";
  return std::string("0x") + (std::isnan(x) ? nan : x > 0 ? inf : minus);
}

} // namespace

int64_t product(const Shape &shape) {
  int64_t n = 1;
  for (int64_t s : shape)
    n *= s;
  return n;
}

std::string tensorType(Type t, const Shape &shape) {
  std::string out = "tensor<";
  for (int64_t s : shape)
    out += std::to_string(s) + "x";
  return out + t.name + ">";
}

std::string list(const Shape &numbers) {
  std::string out;
  for (int64_t n : numbers)
    out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

std::string array(const Shape &numbers) { return numbers.empty() ? "array<i64>" : "array<i64: " + list(numbers) + ">"; }

std::string Value::text() const { return tensorType(type, shape); }
int64_t Value::elements() const { return product(shape); }

// ---- text ---------------------------------------------------------------------------------------------------------------------

void Generator::line(const std::string &text) {
  body().text += std::string(static_cast<size_t>(body().indent), ' ') + text + "\n";
}

Value Generator::put(const std::string &text, Type t, Shape shape, Trust trust, double bound) {
  Value v{fresh(), t, std::move(shape), trust, bound};
  line(v.name + " = " + text);
  return v;
}

Value Generator::same(const std::string &op, const std::vector<Value> &operands, Trust trust, double bound) {
  std::string names;
  for (const Value &o : operands)
    names += (names.empty() ? "" : ", ") + o.name;
  const Value &a = operands[0];
  return put("stablehlo." + op + " " + names + " : " + a.text(), a.type, a.shape, trust, bound);
}

Value Generator::arrow(const std::string &op, const std::vector<Value> &operands, const std::string &attributes, Type t,
                       Shape shape, Trust trust, double bound) {
  std::string names, types;
  for (const Value &o : operands) {
    names += (names.empty() ? "" : ", ") + o.name;
    types += (types.empty() ? "" : ", ") + o.text();
  }
  const std::string result = tensorType(t, shape);
  return put("stablehlo." + op + " " + names + (attributes.empty() ? "" : ", " + attributes) + " : (" + types + ") -> " +
                 result,
             t, std::move(shape), trust, bound);
}

std::string Generator::combiner(const std::string &op, Type t) {
  const std::string a = fresh(), b = fresh(), c = fresh(), type = tensorType(t, {}),
                    in = "\n" + std::string(static_cast<size_t>(body().indent), ' ');
  const std::string head = "{" + in + "^bb0(" + a + ": " + type + ", " + b + ": " + type + "):" + in + "  ", end = in + "}";
  if (op == "GE" || op == "LE") // the choice of select_and_scatter
    return head + c + " = stablehlo.compare " + op + ", " + a + ", " + b + " : (" + type + ", " + type + ") -> tensor<i1>" +
           in + "  stablehlo.return " + c + " : tensor<i1>" + end;
  if (op == "from") // no combination: the second less the first
    return head + c + " = stablehlo.subtract " + b + ", " + a + " : " + type + in + "  stablehlo.return " + c + " : " +
           type + end;
  if (op == "second")
    return head + "stablehlo.return " + b + " : " + type + end;
  return head + c + " = stablehlo." + op + " " + a + ", " + b + " : " + type + in + "  stablehlo.return " + c + " : " +
         type + end;
}

// ---- values -------------------------------------------------------------------------------------------------------------------

void Generator::keep(const Value &v) { body().values.push_back(v); }

std::optional<Value> Generator::find(const Wanted &wanted) {
  std::vector<Value> found;
  for (const Value &v : body().values)
    if (wanted(v))
      found.push_back(v);
  if (found.empty())
    return std::nullopt;
  // The newer ones more often: graphs become deep.
  const auto n = static_cast<int64_t>(found.size());
  Value &v = found[static_cast<size_t>(r.chance(50) ? r.below(n) : std::max(r.below(n), r.below(n)))];
  if (r.chance(6)) // any operand may be known
    if (Value known = constant(v.type, v.shape); wanted(known))
      return known;
  return v;
}

Value Generator::some(const Wanted &wanted, const std::function<Type()> &type, int64_t rank) {
  if (std::optional<Value> v = find(wanted); v && r.chance(90))
    return *v;
  const Type t = type();
  return of(t, anyShape(rank));
}

Value Generator::argument(Type t, const Shape &shape) {
  Body *main = &bodies[0];
  const bool inMain = std::none_of(bodies.begin() + 1, bodies.end(), [](const Body &b) { return b.function; });
  if (!inMain || main->arguments.size() >= kMostArguments)
    return constant(t, shape);
  // randomInputs (glia check) gives normal numbers and integers from 0 to 15.
  Value v{"%a" + std::to_string(main->arguments.size()), t, shape, Trust::Exact, 4.5};
  main->arguments.push_back(v);
  for (Body &b : bodies)
    b.values.push_back(v);
  return v;
}

Value Generator::bits(Type t, const Shape &shape, const std::string &literal) {
  return put("stablehlo.constant dense<" + literal + "> : " + tensorType(t, shape), t, shape, Trust::Exact, 1);
}

Value Generator::splat(Type t, const Shape &shape, double number) {
  Value v = bits(t, shape, numberText(t, number));
  v.bound = std::isfinite(number) ? std::fabs(number) : 1;
  return v;
}

Value Generator::integers(Type t, const Shape &shape, int64_t lo, int64_t hi) {
  if (product(shape) == 0 || product(shape) > kMostNumbers)
    return splat(t, shape, static_cast<double>(r.between(lo, hi)));
  return bits(t, shape, nested(shape, 0, [&] { return numberText(t, static_cast<double>(r.between(lo, hi))); }));
}

Value Generator::constant(Type t, const Shape &shape, bool special) {
  const auto number = [&]() -> double {
    if (t.isPred())
      return static_cast<double>(r.below(2));
    if (t.isInteger()) {
      const int64_t top = (int64_t{1} << (t.bits - (t.kind == Type::Signed ? 1 : 0))) - 1;
      const int64_t bottom = t.kind == Type::Signed ? -top - 1 : 0;
      return static_cast<double>(r.chance(70)   ? r.between(t.kind == Type::Signed ? -9 : 0, 20)
                                 : r.chance(50) ? r.between(bottom, top)
                                                : (r.chance(50) ? top : bottom));
    }
    if (special && r.chance(25))
      return r.chance(34) ? std::nan("") : r.chance(50) ? HUGE_VAL : -HUGE_VAL;
    return static_cast<double>(r.between(-24, 24)) / 8;
  };
  specials |= special;
  const int64_t n = product(shape);
  if (n == 0 || n > kMostNumbers || (r.chance(40) && !special))
    return splat(t, shape, number());
  Value v = bits(t, shape, nested(shape, 0, [&] { return numberText(t, number()); }));
  v.bound = 3;
  return v;
}

Value Generator::of(Type t, const Shape &shape) {
  if (std::optional<Value> v =
          find([&](const Value &v) { return v.type == t && v.shape == shape && v.trust != Trust::Decided; });
      v && r.chance(75))
    return *v;
  const int64_t how = r.below(100);
  if (how < 45 || t.isPred())
    return argument(t, shape);
  if (how < 80 && !shape.empty()) { // something smaller, spread
    const int64_t dim = r.below(static_cast<int64_t>(shape.size()));
    const auto fits = [&](const Value &v) {
      return v.type == t && v.trust != Trust::Decided &&
             (v.shape.empty() || (v.shape.size() == 1 && v.shape[0] == shape[static_cast<size_t>(dim)]));
    };
    if (std::optional<Value> v = find(fits))
      return arrow("broadcast_in_dim", {*v}, "dims = [" + (v->shape.empty() ? "" : std::to_string(dim)) + "]", t, shape,
                   v->trust, v->bound);
  }
  return how < 85 ? argument(t, shape) : constant(t, shape, t.isFloat() && r.chance(10));
}

Value Generator::clamped(const Value &v, double bound) {
  if (v.bound <= bound)
    return v;
  const Value lo = splat(v.type, {}, -bound), hi = splat(v.type, {}, bound);
  return arrow("clamp", {lo, v, hi}, "", v.type, v.shape, v.trust, bound);
}

Value Generator::scaled(Value v) {
  if (!v.type.isFloat() || (v.bound <= 24 && v.bound >= 0.03) || v.bound == 0)
    return v;
  if (v.bound > 24 && v.bound < 200 && r.chance(25))
    return same("tanh", {v}, rounded(v), 1);
  const double scale = std::exp2(-std::ceil(std::log2(v.bound / 8)));
  return same("multiply", {v, splat(v.type, v.shape, scale)}, v.trust, v.bound * scale);
}

Value Generator::scalarIndex() {
  const auto wanted = [](const Value &v) { return v.type == kI32 && v.shape.empty() && v.trust == Trust::Exact; };
  if (std::optional<Value> v = find(wanted); v && r.chance(50))
    return *v;
  return r.chance(60) ? argument(kI32, {}) : integers(kI32, {}, -2, 20);
}

bool Generator::leftOut(std::string_view name) const {
  return std::find(choice.without.begin(), choice.without.end(), name) != choice.without.end();
}

// ---- choices ------------------------------------------------------------------------------------------------------------------

Type Generator::floatType() {
  static const std::vector<Type> types = {kF32, kF32, kF32, kBF16, kBF16, kF16};
  return r.pick(types);
}

Type Generator::integerType() {
  static const std::vector<Type> types = {kI32, kI32, kI32, kU32, kU32, kI16, kU16, kI8, kU8};
  return r.pick(types);
}

Type Generator::anyType() { return r.chance(70) ? floatType() : r.chance(85) ? integerType() : kI1; }

int64_t Generator::anySize() {
  static const std::vector<int64_t> sizes = {1,  2,  2,  3,  3,  4,  5,   7,   8,   12,  16,  31,
                                             32, 33, 48, 64, 65, 96, 127, 128, 129, 130, 257, 513};
  return r.pick(sizes);
}

Shape Generator::anyShape(int64_t rank) {
  if (rank < 0)
    rank = r.chance(5) ? r.between(5, 12)
                       : std::vector<int64_t>{0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4}[static_cast<size_t>(r.below(11))];
  Shape out(static_cast<size_t>(rank));
  for (int64_t &s : out)
    s = rank > 4 ? r.between(1, 3) : anySize();
  while (product(out) > kMostElements) { // the largest becomes smaller
    int64_t &s = *std::max_element(out.begin(), out.end());
    s = r.between(1, std::max<int64_t>(s / 3, 2));
  }
  return out;
}

} // namespace glia::graphs
