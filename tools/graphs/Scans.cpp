// Scans as JAX writes them: the recursion of associative_scan, and loops that carry a state. Some are off by one element, and no scans.
#include "Generator.h"

#include <cmath>

namespace glia::graphs {

namespace {

bool scannable(const Value &v) { return v.type.isFloat() && v.trust != Trust::Decided && v.rank() > 0 && v.elements() > 0; }

struct Scan {
  Generator &g;
  int64_t dim;
  std::string op; // empty: of pairs
  bool wrong;     // one element off
  using Values = std::vector<Value>;

  static int64_t sizeOf(const Value &v, int64_t dim) { return v.shape[static_cast<size_t>(dim)]; }
  static Shape with(Shape s, int64_t dim, int64_t n) {
    s[static_cast<size_t>(dim)] = n;
    return s;
  }

  Value slice(const Value &x, int64_t from, int64_t to, int64_t step) const {
    std::string text;
    for (int64_t d = 0; d < x.rank(); ++d) {
      const bool here = d == dim;
      text += (d ? ", " : "") + std::to_string(here ? from : 0) + ":" + std::to_string(here ? to : sizeOf(x, d)) +
              (here && step != 1 ? ":" + std::to_string(step) : "");
    }
    const Shape shape = with(x.shape, dim, (to - from + step - 1) / step);
    return g.put("stablehlo.slice " + x.name + " [" + text + "] : (" + x.text() + ") -> " + tensorType(x.type, shape),
                 x.type, shape, x.trust, x.bound);
  }
  Values slices(const Values &x, int64_t from, int64_t to, int64_t step) const {
    Values out;
    for (const Value &v : x)
      out.push_back(slice(v, from, to, step));
    return out;
  }
  Value make(const std::string &name, const Value &x, const Value &y) const {
    const double bound = name == "add"        ? x.bound + y.bound
                         : name == "multiply" ? x.bound * y.bound
                                              : std::max(x.bound, y.bound);
    return g.same(name, {x, y}, Trust::Rounded, bound);
  }
  Values combine(const Values &x, const Values &y) const {
    if (!op.empty())
      return {make(op, x[0], y[0])};
    return {make("multiply", x[0], y[0]), make("add", make("multiply", y[0], x[1]), y[1])};
  }
  Value interleave(const Value &even, const Value &odd, int64_t n) const {
    const Value zero = g.splat(even.type, {}, 0);
    const auto padded = [&](const Value &v, int64_t low) {
      Shape lows(v.shape.size(), 0), highs = lows, interior = lows;
      const auto d = static_cast<size_t>(dim);
      lows[d] = low;
      interior[d] = 1;
      highs[d] = n - low - (2 * sizeOf(v, dim) - 1);
      return g.arrow("pad", {v, zero},
                     "low = [" + list(lows) + "], high = [" + list(highs) + "], interior = [" + list(interior) + "]", v.type,
                     with(v.shape, dim, n), v.trust, v.bound);
    };
    return g.same("add", {padded(even, 0), padded(odd, 1)}, Trust::Rounded, std::max(even.bound, odd.bound));
  }

  Values run(const Values &x) const {
    const int64_t n = sizeOf(x[0], dim);
    if (n < 2)
      return x;
    const Values odd = run(combine(slices(x, 0, n - 1, 2), slices(x, 1, n, 2)));
    const int64_t rest = (n - 1) / 2, off = wrong ? 1 : 0;
    Values out;
    const Values even =
        rest > 0 ? combine(slices(odd, 0, rest, 1), slices(x, 2 - off, 2 - off + 2 * rest - 1, 2)) : Values();
    for (size_t i = 0; i < x.size(); ++i) {
      Value all = slice(x[i], 0, 1, 1);
      if (rest > 0)
        all = g.arrow("concatenate", {all, even[i]}, "dim = " + std::to_string(dim), x[i].type,
                      with(x[i].shape, dim, rest + 1), Trust::Rounded, std::max(all.bound, even[i].bound));
      out.push_back(interleave(all, odd[i], n));
    }
    return out;
  }
};

// h = a h + b, or what `op` says, over the rows of x and y; keeps the last state, and all of them or those before.
void loop(Generator &g, const Value &x, const Value &y, const Value &start, const std::string &op, bool backward) {
  const int64_t n = x.shape[0];
  const std::string count = std::to_string(n), t = x.text(), u = start.text();
  Shape one = x.shape;
  one[0] = 1;
  const std::string row = tensorType(x.type, one);
  const Value zero = g.integers(kI32, {}, 0, 0), rows = g.splat(x.type, x.shape, 0);
  const std::string name = g.fresh(), i = g.fresh(), h = g.fresh(), ys = g.fresh();
  g.line(name + ":3 = stablehlo.while(" + i + " = " + zero.name + ", " + h + " = " + start.name + ", " + ys + " = " +
         rows.name + ") : tensor<i32>, " + u + ", " + t);
  g.line(" cond {");
  const std::string limit = g.fresh(), more = g.fresh();
  g.line("  " + limit + " = stablehlo.constant dense<" + count + "> : tensor<i32>");
  g.line("  " + more + " = stablehlo.compare LT, " + i + ", " + limit + " : (tensor<i32>, tensor<i32>) -> tensor<i1>");
  g.line("  stablehlo.return " + more + " : tensor<i1>");
  g.line("} do {");
  std::string at = i, zeros, types = "tensor<i32>";
  const auto make = [&](const std::string &text) {
    const std::string v = g.fresh();
    g.line("  " + v + " = stablehlo." + text);
    return v;
  };
  const std::string none = make("constant dense<0> : tensor<i32>"), step = make("constant dense<1> : tensor<i32>");
  if (backward)
    at = make("subtract " + make("constant dense<" + std::to_string(n - 1) + "> : tensor<i32>") + ", " + i +
              " : tensor<i32>");
  for (int64_t d = 1; d < x.rank(); ++d) {
    zeros += ", " + none;
    types += ", tensor<i32>";
  }
  const auto rowOf = [&](const Value &v) {
    return make("reshape " +
                make("dynamic_slice " + v.name + ", " + at + zeros + ", sizes = [" + list(one) + "] : (" + t + ", " + types +
                     ") -> " + row) +
                " : (" + row + ") -> " + u);
  };
  const std::string b = rowOf(y);
  std::string next;
  if (op.empty())
    next = make("add " + make("multiply " + rowOf(x) + ", " + h + " : " + u) + ", " + b + " : " + u);
  else
    next = make(op + " " + h + ", " + b + " : " + u);
  const std::string given = g.r.chance(70) ? next : h;
  const std::string all = make("dynamic_update_slice " + ys + ", " + make("reshape " + given + " : (" + u + ") -> " + row) +
                               ", " + at + zeros + " : (" + t + ", " + row + ", " + types + ") -> " + t);
  const std::string j = make("add " + i + ", " + step + " : tensor<i32>");
  g.line("  stablehlo.return " + j + ", " + next + ", " + all + " : tensor<i32>, " + u + ", " + t);
  g.line("}");
  const double bound = static_cast<double>(n) * y.bound + start.bound;
  g.keepScaled({name + "#1", x.type, start.shape, Trust::Rounded, bound});
  g.keepScaled({name + "#2", x.type, x.shape, Trust::Rounded, bound});
}

} // namespace

bool Generator::scan() {
  const std::optional<Value> found = find(scannable);
  if (!found)
    return false;
  static const std::vector<std::string> ops = {"", "", "add", "maximum", "minimum"};
  const Value x = clamped(*found, 1), y = of(x.type, x.shape);
  if (y.trust == Trust::Decided)
    return false;
  const std::string op = r.pick(ops);
  if (r.chance(50)) {
    Shape rest(x.shape.begin() + 1, x.shape.end());
    const Value start = of(x.type, rest);
    if (x.shape[0] < 2 || x.shape[0] > 150 || start.trust == Trust::Decided)
      return false;
    loop(*this, x, y, start, op, r.chance(30));
    return true;
  }
  const int64_t dim = r.chance(60) ? x.rank() - 1 : r.below(x.rank());
  if (x.shape[static_cast<size_t>(dim)] > 150)
    return false;
  const Scan s{*this, dim, op, r.chance(20)};
  const std::vector<Value> made = s.run(op.empty() ? std::vector<Value>{x, y} : std::vector<Value>{y});
  for (const Value &v : made)
    if (r.chance(70) || &v == &made.back()) {
      Value bounded = v; // factors are at most 1
      bounded.bound = y.bound * static_cast<double>(x.shape[static_cast<size_t>(dim)]) + 1;
      keepScaled(bounded);
    }
  return true;
}

} // namespace glia::graphs
