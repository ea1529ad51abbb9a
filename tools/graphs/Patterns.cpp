// What models are made of: softmax, norms, activations. Compilers look for these, and must not see what is not there.
#include "Generator.h"

#include <cmath>

namespace glia::graphs {

namespace {

bool realRows(const Value &v) { return v.type.isFloat() && v.trust != Trust::Decided && v.rank() > 0 && v.elements() > 0; }

struct Rows { // a value, and one dimension of it that is summed over
  Generator &g;
  Value x;
  int64_t dim;

  Shape rest() const {
    Shape s = x.shape;
    s.erase(s.begin() + dim);
    return s;
  }
  double count() const { return static_cast<double>(x.shape[static_cast<size_t>(dim)]); }
  Value reduced(const Value &v, const char *op, double start) const {
    const Value init = g.splat(v.type, {}, start);
    return g.put("stablehlo.reduce(" + v.name + " init: " + init.name + ") applies stablehlo." + op +
                     " across dimensions = [" + std::to_string(dim) + "] : (" + v.text() + ", " + init.text() + ") -> " +
                     tensorType(v.type, rest()),
                 v.type, rest(), Trust::Rounded, v.bound * std::sqrt(count()));
  }
  Value spread(const Value &v) const {
    Shape dims;
    for (int64_t d = 0; d < x.rank(); ++d)
      if (d != dim)
        dims.push_back(d);
    return g.arrow("broadcast_in_dim", {v}, "dims = [" + list(dims) + "]", x.type, x.shape, v.trust, v.bound);
  }
  Value make(const char *op, const Value &a, const Value &b, double bound) const {
    return g.same(op, {a, b}, Trust::Rounded, bound);
  }
  Value number(double n) const { return g.splat(x.type, x.shape, n); }
};

void softmax(const Rows &r) {
  const Value largest = r.reduced(r.x, "maximum", -HUGE_VAL);
  const Value shifted = r.make("subtract", r.x, r.spread(largest), 2 * r.x.bound);
  const Value e = r.g.same("exponential", {shifted}, Trust::Rounded, 1);
  const Value sum = r.reduced(e, "add", 0);
  if (r.g.r.chance(30)) { // its logarithm
    const Value log = r.g.same("log", {sum}, Trust::Rounded, 6);
    r.g.keepScaled(r.make("subtract", shifted, r.spread(log), 2 * r.x.bound + 6));
  } else {
    r.g.keepScaled(r.make("divide", e, r.spread(sum), 1));
  }
}

void norm(const Rows &r) {
  const Value share = r.g.splat(r.x.type, r.rest(), 1 / r.count());
  Value centred = r.x;
  if (r.g.r.chance(60)) {
    const Value mean = r.g.same("multiply", {r.reduced(r.x, "add", 0), share}, Trust::Rounded, r.x.bound);
    centred = r.make("subtract", r.x, r.spread(mean), 2 * r.x.bound);
  }
  const Value squares = r.make("multiply", centred, centred, 8);
  const Value variance = r.g.same("multiply", {r.reduced(squares, "add", 0), share}, Trust::Rounded, 8);
  const Value moved = r.g.same("add", {variance, r.g.splat(r.x.type, r.rest(), 0.0625)}, Trust::Rounded, 8);
  const Value scale = r.g.same("rsqrt", {moved}, Trust::Rounded, 4);
  r.g.keepScaled(r.make("multiply", centred, r.spread(scale), std::sqrt(r.count()) + 1));
}

void gelu(const Rows &r) {
  const Value x = r.g.clamped(r.x, 8);
  const Value cube = r.make("multiply", r.make("multiply", x, x, 64), x, 512);
  const Value inner = r.make("add", x, r.make("multiply", cube, r.number(0.044715), 23), 31);
  const Value t = r.g.same("tanh", {r.make("multiply", inner, r.number(0.79788456), 25)}, Trust::Rounded, 1);
  const Value half = r.make("multiply", x, r.number(0.5), 4);
  r.g.keepScaled(r.make("multiply", half, r.make("add", t, r.number(1), 2), 8));
}

void swish(const Rows &r) {
  r.g.keepScaled(r.make("multiply", r.x, r.g.same("logistic", {r.x}, Trust::Rounded, 1), r.x.bound));
}

void barrier(const Rows &r) {
  const std::string name = r.g.fresh();
  r.g.line(name + " = stablehlo.optimization_barrier " + r.x.name + " : " + r.x.text());
  Value v = r.x;
  v.name = name;
  r.g.keep(v);
}

void batchNormInference(const Rows &r) {
  const Shape features = {r.x.shape[static_cast<size_t>(r.dim)]};
  const Value scale = r.g.of(r.x.type, features), offset = r.g.of(r.x.type, features), mean = r.g.of(r.x.type, features);
  const Value variance = r.g.same("abs", {r.g.of(r.x.type, features)}, Trust::Rounded, 8);
  const std::string f = scale.text();
  r.g.keepScaled(r.g.put("\"stablehlo.batch_norm_inference\"(" + r.x.name + ", " + scale.name + ", " + offset.name + ", " +
                             mean.name + ", " + variance.name +
                             ") <{epsilon = 6.250000e-02 : f32, feature_index = " + std::to_string(r.dim) + " : i64}> : (" +
                             r.x.text() + ", " + f + ", " + f + ", " + f + ", " + f + ") -> " + r.x.text(),
                         r.x.type, r.x.shape, Trust::Rounded, 4 * (r.x.bound + mean.bound) * scale.bound + offset.bound));
}

void batchNormGrad(const Rows &r) {
  const Shape features = {r.x.shape[static_cast<size_t>(r.dim)]};
  const Value scale = r.g.of(r.x.type, features), mean = r.g.of(r.x.type, features), grad = r.g.of(r.x.type, r.x.shape);
  const Value some = r.g.same("abs", {r.g.of(r.x.type, features)}, Trust::Rounded, 8);
  const Value variance = r.g.same("add", {some, r.g.splat(r.x.type, features, 0.5)}, Trust::Rounded, 8);
  const std::string name = r.g.fresh(), f = scale.text(), x = r.x.text();
  r.g.line(name + ":3 = \"stablehlo.batch_norm_grad\"(" + r.x.name + ", " + scale.name + ", " + mean.name + ", " +
           variance.name + ", " + grad.name + ") <{epsilon = 1.000000e-02 : f32, feature_index = " + std::to_string(r.dim) +
           " : i64}> : (" + x + ", " + f + ", " + f + ", " + f + ", " + x + ") -> (" + x + ", " + f + ", " + f + ")");
  const double size = (r.x.bound + mean.bound) * 2;
  const double sums = std::sqrt(static_cast<double>(r.x.elements() / features[0])) * grad.bound;
  r.g.keepScaled({name + "#0", r.x.type, r.x.shape, Trust::Rounded, 2 * scale.bound * grad.bound * size * size});
  r.g.keepScaled({name + "#1", r.x.type, features, Trust::Rounded, sums * size});
  r.g.keepScaled({name + "#2", r.x.type, features, Trust::Rounded, sums});
}

void batchNorm(const Rows &r) {
  const Shape features = {r.x.shape[static_cast<size_t>(r.dim)]};
  const Value scale = r.g.of(r.x.type, features), offset = r.g.of(r.x.type, features);
  const std::string name = r.g.fresh(), f = scale.text();
  r.g.line(name + ":3 = \"stablehlo.batch_norm_training\"(" + r.x.name + ", " + scale.name + ", " + offset.name +
           ") <{epsilon = 1.000000e-02 : f32, feature_index = " + std::to_string(r.dim) + " : i64}> : (" + r.x.text() +
           ", " + f + ", " + f + ") -> (" + r.x.text() + ", " + f + ", " + f + ")");
  r.g.keepScaled({name + "#0", r.x.type, r.x.shape, Trust::Rounded, 8 * scale.bound + offset.bound});
  r.g.keepScaled({name + "#1", r.x.type, features, Trust::Rounded, r.x.bound});
}

// Rounds of the generator of random bits in JAX: additions that wrap, rotations, exclusive or.
bool mixing(Generator &g) {
  const auto wanted = [](const Value &v) { return v.type == kU32 && v.trust == Trust::Exact; };
  const Value start = g.some(wanted, [] { return kU32; });
  Value a = start, b = g.of(kU32, start.shape);
  if (a.trust != Trust::Exact || b.trust != Trust::Exact)
    return false;
  const int64_t rounds = g.r.between(1, 6);
  for (int64_t i = 0; i < rounds; ++i) {
    const int64_t by = g.r.between(1, 31);
    const auto op = [&](const char *name, const Value &x, const Value &y) { return g.same(name, {x, y}, Trust::Exact, 1); };
    const auto number = [&](int64_t n) { return g.splat(kU32, start.shape, static_cast<double>(n)); };
    a = op("add", a, b);
    const Value up = op("shift_left", b, number(by)), down = op("shift_right_logical", b, number(32 - by));
    b = op("xor", op("or", up, down), a);
  }
  g.keep(a);
  g.keep(b);
  return true;
}

} // namespace

bool Generator::pattern() {
  static const std::vector<void (*)(const Rows &)> all = {softmax, softmax, norm, norm, gelu, swish, barrier};
  if (r.chance(10))
    return mixing(*this);
  const std::optional<Value> x = find(realRows);
  if (!x)
    return false;
  const int64_t dim = r.chance(60) ? x->rank() - 1 : r.below(x->rank());
  if (r.chance(10) && x->type == kF32 && !leftOut("batch_norm_training"))
    (r.chance(50) ? batchNorm : r.chance(50) ? batchNormInference : batchNormGrad)({*this, *x, dim});
  else
    r.pick(all)({*this, *x, dim});
  return true;
}

} // namespace glia::graphs
