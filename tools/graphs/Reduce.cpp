// Reductions: over dimensions, over windows, and the largest with its place.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

bool isReal(const Value &v) { return v.type.isFloat() && v.trust != Trust::Decided; }

struct Combiner {
  std::string op;
  double start; // what changes nothing
};

Combiner combinerFor(Random &r, const Value &v, int64_t count) {
  static const std::vector<const char *> real = {"add", "add", "add", "maximum", "minimum", "multiply"},
                                         whole = {"add", "maximum", "minimum", "and", "or", "multiply"};
  std::string op = v.type.isPred() ? (r.chance(50) ? "and" : "or") : r.pick(v.type.isFloat() ? real : whole);
  if (op == "multiply" && v.type.isFloat() && (count > 6 || v.bound > 5))
    op = "maximum";
  const bool sign = v.type.kind == Type::Signed;
  const double top = v.type.isFloat() ? HUGE_VAL : std::exp2(v.type.bits - (sign ? 1 : 0)) - 1;
  const double bottom = v.type.isFloat() ? -HUGE_VAL : sign ? -top - 1 : 0;
  const double start = op == "add" || op == "or" ? 0
                       : op == "multiply"        ? 1
                       : op == "maximum"         ? bottom
                       : op == "minimum"         ? top
                       : v.type.isPred()         ? 1
                       : sign                    ? -1
                                                 : top;
  return {op, start};
}

double boundAfter(const Value &v, const std::string &op, int64_t count) {
  if (op == "multiply")
    return std::min(std::pow(std::max(v.bound, 1.0), static_cast<double>(count)), 1e4);
  return op == "add" ? v.bound * std::sqrt(static_cast<double>(count)) : v.bound;
}

Trust trustAfter(const Value &v, const std::string &op) {
  return v.type.isFloat() && (op == "add" || op == "multiply") ? Trust::Rounded : v.trust;
}

struct Window {
  Shape size, stride, base, dilation, low, high, result;
};

// Over each dimension of a shape; nullopt if nothing is left.
std::optional<Window> windowOver(Random &r, const Shape &shape, bool plain) {
  Window w;
  for (int64_t s : shape) {
    const bool slides = r.chance(60);
    w.size.push_back(slides ? r.between(1, std::min<int64_t>(5, s + 1)) : 1);
    w.stride.push_back(slides ? r.between(1, 3) : 1);
    w.base.push_back(slides && !plain && r.chance(15) ? 2 : 1);
    w.dilation.push_back(slides && !plain && r.chance(20) ? 2 : 1);
    const int64_t reach = (w.size.back() - 1) * w.dilation.back() + 1;
    w.low.push_back(slides ? r.between(0, reach - 1) : 0);
    w.high.push_back(slides ? r.between(0, reach - 1) : 0);
    const int64_t full = (s - 1) * w.base.back() + 1 + w.low.back() + w.high.back();
    if (full < reach)
      return std::nullopt;
    w.result.push_back((full - reach) / w.stride.back() + 1);
  }
  return w;
}

std::string paddingOf(const Window &w) {
  std::string out;
  for (size_t i = 0; i < w.low.size(); ++i)
    out += (i ? ", [" : "[") + std::to_string(w.low[i]) + ", " + std::to_string(w.high[i]) + "]";
  return "dense<[" + out + "]> : tensor<" + std::to_string(w.low.size()) + "x2xi64>";
}

} // namespace

bool Generator::reduce() {
  const std::optional<Value> v =
      find([](const Value &v) { return v.rank() > 0 && v.trust != Trust::Decided && !v.type.isSmall(); });
  if (!v)
    return false;
  Shape dims, rest;
  for (int64_t d = 0; d < v->rank(); ++d)
    if (r.chance(50))
      dims.push_back(d);
    else
      rest.push_back(v->shape[static_cast<size_t>(d)]);
  const int64_t count = v->elements() / std::max<int64_t>(product(rest), 1);
  const Combiner c = combinerFor(r, *v, count);
  const bool other = c.op == "add" && count > 1 && r.chance(10); // a start that counts; XLA forgets it for one element
  const Value init = splat(v->type, {}, other ? 2 : c.start);
  keepScaled(put("stablehlo.reduce(" + v->name + " init: " + init.name + ") applies stablehlo." + c.op +
                     " across dimensions = [" + list(dims) + "] : (" + v->text() + ", " + init.text() + ") -> " +
                     tensorType(v->type, rest),
                 v->type, rest, trustAfter(*v, c.op), boundAfter(*v, c.op, count) + (other ? 2 : 0)));
  return true;
}

bool Generator::argmax() {
  const std::optional<Value> v =
      find([](const Value &v) { return v.elements() > 0 && v.rank() > 0 && v.trust == Trust::Exact && v.type.isFloat(); });
  if (!v)
    return false;
  const int64_t dim = r.below(v->rank());
  Shape rest = v->shape;
  rest.erase(rest.begin() + dim);
  const bool largest = r.chance(70);
  const Value places = put("stablehlo.iota dim = " + std::to_string(dim) + " : " + tensorType(kI32, v->shape), kI32,
                           v->shape, Trust::Exact, 1);
  const Value start = splat(v->type, {}, largest ? -HUGE_VAL : HUGE_VAL), zero = splat(kI32, {}, 0);
  const std::string name = fresh(), x = tensorType(v->type, {}), i = tensorType(kI32, {});
  std::string n[12];
  for (std::string &s : n)
    s = fresh();
  const auto compare = [&](const std::string &to, const char *how, const std::string &a, const std::string &b,
                           const std::string &type) {
    line("  " + to + " = stablehlo.compare " + how + ", " + a + ", " + b + " : (" + type + ", " + type + ") -> tensor<i1>");
  };
  line(name + ":2 = stablehlo.reduce(" + v->name + " init: " + start.name + "), (" + places.name + " init: " + zero.name +
       ") across dimensions = [" + std::to_string(dim) + "] : (" + v->text() + ", " + places.text() + ", " + x + ", " + i +
       ") -> (" + tensorType(v->type, rest) + ", " + tensorType(kI32, rest) + ")");
  line(" reducer(" + n[0] + ": " + x + ", " + n[1] + ": " + x + ") (" + n[2] + ": " + i + ", " + n[3] + ": " + i + ") {");
  compare(n[4], largest ? "GT" : "LT", n[0], n[1], x);
  compare(n[5], "NE", n[0], n[0], x); // NaN wins
  line("  " + n[6] + " = stablehlo.or " + n[4] + ", " + n[5] + " : tensor<i1>");
  compare(n[7], "EQ", n[0], n[1], x);
  compare(n[8], "LT", n[2], n[3], i);
  line("  " + n[9] + " = stablehlo.and " + n[7] + ", " + n[8] + " : tensor<i1>");
  line("  " + n[10] + " = stablehlo.or " + n[6] + ", " + n[9] + " : tensor<i1>");
  const std::string value = fresh();
  line("  " + value + " = stablehlo.select " + n[6] + ", " + n[0] + ", " + n[1] + " : tensor<i1>, " + x);
  line("  " + n[11] + " = stablehlo.select " + n[10] + ", " + n[2] + ", " + n[3] + " : tensor<i1>, " + i);
  line("  stablehlo.return " + value + ", " + n[11] + " : " + x + ", " + i);
  line("}");
  keep({name + "#0", v->type, rest, Trust::Exact, v->bound});
  keep({name + "#1", kI32, rest, Trust::Exact, 1});
  return true;
}

bool Generator::reduceWindow() {
  const bool whole = r.chance(10);
  const std::optional<Value> v = find([&](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && (whole ? v.type == kI32 && v.trust == Trust::Exact : isReal(v)) &&
           v.elements() < 20'000;
  });
  if (!v)
    return false;
  const std::optional<Window> w = windowOver(r, v->shape, false);
  if (!w || product(w->result) > kMostElements)
    return false;
  const int64_t count = product(w->size);
  Combiner c = combinerFor(r, *v, count);
  if (c.op == "and" || c.op == "or" || c.op == "multiply")
    c = {"add", 0};
  const Value init = splat(v->type, {}, c.start);
  const std::string region = combiner(c.op, v->type);
  keepScaled(put("\"stablehlo.reduce_window\"(" + v->name + ", " + init.name + ") <{base_dilations = " + array(w->base) +
                     ", padding = " + paddingOf(*w) + ", window_dilations = " + array(w->dilation) +
                     ", window_dimensions = " + array(w->size) + ", window_strides = " + array(w->stride) + "}> (" + region +
                     ") : (" + v->text() + ", " + init.text() + ") -> " + tensorType(v->type, w->result),
                 v->type, w->result, trustAfter(*v, c.op), boundAfter(*v, c.op, count)));
  return true;
}

// The gradient of a maximum over windows. What is compared must be exact: two right compilers choose the same place.
bool Generator::selectAndScatter() {
  const std::optional<Value> v = find([](const Value &v) {
    return v.rank() > 0 && v.type.isFloat() && v.trust == Trust::Exact && v.elements() > 0 && v.elements() < 20'000;
  });
  if (!v)
    return false;
  const std::optional<Window> w = windowOver(r, v->shape, true);
  if (!w || product(w->result) > kMostElements)
    return false;
  const Value source = of(v->type, w->result), init = splat(v->type, {}, 0);
  const std::string select = combiner(r.chance(80) ? "GE" : "LE", v->type), scatter = combiner("add", v->type);
  keepScaled(put("\"stablehlo.select_and_scatter\"(" + v->name + ", " + source.name + ", " + init.name +
                     ") <{padding = " + paddingOf(*w) + ", window_dimensions = " + array(w->size) +
                     ", window_strides = " + array(w->stride) + "}> (" + select + ", " + scatter + ") : (" + v->text() +
                     ", " + source.text() + ", " + init.text() + ") -> " + v->text(),
                 v->type, v->shape, rounded(source), source.bound * std::sqrt(static_cast<double>(product(w->size)))));
  return true;
}

} // namespace glia::graphs
