// What depends on the order of elements: the largest ones with their places, running sums, reductions of several tensors together.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

bool Generator::topK() {
  const auto wanted = [](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && v.trust == Trust::Exact && (v.type.isFloat() || v.type.isInteger());
  };
  std::optional<Value> v = find(wanted);
  if (r.chance(15)) // few long rows
    if (const Value x = of(r.chance(60) ? kF32 : anyType(), {r.between(1, 3), r.between(1500, 6000)}); wanted(x))
      v = x;
  if (!v)
    return false;
  Shape shape = v->shape;
  shape.back() = r.between(1, std::min<int64_t>(shape.back(), r.chance(80) ? 9 : 40));
  const std::string name = fresh();
  line(name + ":2 = chlo.top_k(" + v->name + ", k = " + std::to_string(shape.back()) + ") : " + v->text() + " -> (" +
       tensorType(v->type, shape) + ", " + tensorType(kI32, shape) + ")");
  keep({name + "#0", v->type, shape, Trust::Exact, v->bound});
  keep({name + "#1", kI32, shape, Trust::Exact, 1});
  return true;
}

// By one or two keys, up or down, with another tensor along.
bool Generator::sort() {
  const auto comparable = [](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && v.elements() < 20'000 && v.trust == Trust::Exact &&
           (v.type.isFloat() || v.type.isInteger());
  };
  const std::optional<Value> first = find(comparable);
  if (!first)
    return false;
  std::vector<Value> in = {*first, of(anyType(), first->shape)};
  const bool two = comparable(in[1]) && r.chance(50);
  std::string names[4], arguments;
  for (size_t i = 0; i < 4; ++i) {
    names[i] = fresh();
    arguments += (i ? ", " : "") + names[i] + ": " + tensorType(in[i / 2].type, {});
  }
  const std::string name = fresh();
  line(name + ":2 = \"stablehlo.sort\"(" + in[0].name + ", " + in[1].name +
       ") <{dimension = " + std::to_string(r.below(first->rank())) + " : i64, is_stable = true}> ({");
  line("^bb0(" + arguments + "):");
  const auto compare = [&](size_t key, const std::string &how) {
    const Type t = in[key].type;
    const std::string made = fresh(), scalar = tensorType(t, {});
    line("  " + made + " = stablehlo.compare " + how + ", " + names[2 * key] + ", " + names[2 * key + 1] + ", " +
         (t.isFloat()              ? "TOTALORDER"
          : t.kind == Type::Signed ? "SIGNED"
                                   : "UNSIGNED") +
         " : (" + scalar + ", " + scalar + ") -> tensor<i1>");
    return made;
  };
  std::string before = compare(0, r.chance(60) ? "LT" : "GT");
  if (two) {
    const std::string equal = compare(0, "EQ"), second = compare(1, r.chance(60) ? "LT" : "GT"), both = fresh(),
                      any = fresh();
    line("  " + both + " = stablehlo.and " + equal + ", " + second + " : tensor<i1>");
    line("  " + any + " = stablehlo.or " + before + ", " + both + " : tensor<i1>");
    before = any;
  }
  line("  stablehlo.return " + before + " : tensor<i1>");
  line("}) : (" + in[0].text() + ", " + in[1].text() + ") -> (" + in[0].text() + ", " + in[1].text() + ")");
  for (size_t i = 0; i < 2; ++i)
    keep({name + "#" + std::to_string(i), in[i].type, in[i].shape, in[i].trust, in[i].bound});
  return true;
}

// As cumsum and cummax are written: a window that reaches from each element to the first one, or to the last.
bool Generator::running() {
  const std::optional<Value> v = find([](const Value &v) {
    return v.rank() > 0 && v.elements() > 0 && v.elements() < 20'000 && v.trust != Trust::Decided &&
           (v.type.isFloat() || v.type == kI32);
  });
  if (!v)
    return false;
  const auto dim = static_cast<size_t>(r.below(v->rank()));
  const int64_t n = v->shape[dim];
  if (n > 200)
    return false;
  Shape window(v->shape.size(), 1);
  window[dim] = n;
  std::string padding;
  const bool back = r.chance(30);
  for (size_t d = 0; d < window.size(); ++d)
    padding += std::string(d ? ", " : "") + (d != dim ? "[0, 0]"
                                             : back   ? "[0, " + std::to_string(n - 1) + "]"
                                                      : "[" + std::to_string(n - 1) + ", 0]");
  const bool sums = r.chance(60);
  const double bottom = v->type.isFloat() ? -HUGE_VAL : -2147483648.0;
  const Value init = splat(v->type, {}, sums ? 0 : bottom);
  const std::string region = combiner(sums ? "add" : "maximum", v->type);
  keepScaled(put("\"stablehlo.reduce_window\"(" + v->name + ", " + init.name + ") <{padding = dense<[" + padding +
                     "]> : tensor<" + std::to_string(window.size()) + "x2xi64>, window_dimensions = " + array(window) +
                     "}> (" + region + ") : (" + v->text() + ", " + init.text() + ") -> " + v->text(),
                 v->type, v->shape, sums && v->type.isFloat() ? Trust::Rounded : v->trust,
                 sums ? v->bound * std::sqrt(static_cast<double>(n)) : v->bound));
  return true;
}

// Two tensors in one reduction, each with an operation of its own.
bool Generator::reducePair() {
  const auto plain = [](const Value &v) { return v.type.isFloat() && v.rank() > 0 && v.trust != Trust::Decided; };
  const std::optional<Value> a = find(plain);
  if (!a)
    return false;
  const Value b = of(a->type, a->shape); // XLA does not mix types in a reduction
  Shape dims, rest;
  for (int64_t d = 0; d < a->rank(); ++d)
    if (r.chance(60))
      dims.push_back(d);
    else
      rest.push_back(a->shape[static_cast<size_t>(d)]);
  const int64_t count = a->elements() / std::max<int64_t>(product(rest), 1);
  static const std::vector<const char *> ops = {"add", "maximum", "minimum"};
  const std::string of[2] = {r.pick(ops), r.pick(ops)};
  const Value values[2] = {*a, b};
  const auto start = [&](int i) { return of[i] == "add" ? 0 : of[i] == "maximum" ? -HUGE_VAL : HUGE_VAL; };
  const Value inits[2] = {splat(a->type, {}, start(0)), splat(b.type, {}, start(1))};
  const std::string name = fresh();
  std::string n[6];
  for (std::string &s : n)
    s = fresh();
  const std::string x = tensorType(a->type, {}), y = tensorType(b.type, {});
  line(name + ":2 = stablehlo.reduce(" + a->name + " init: " + inits[0].name + "), (" + b.name + " init: " + inits[1].name +
       ") across dimensions = [" + list(dims) + "] : (" + a->text() + ", " + b.text() + ", " + x + ", " + y + ") -> (" +
       tensorType(a->type, rest) + ", " + tensorType(b.type, rest) + ")");
  line(" reducer(" + n[0] + ": " + x + ", " + n[1] + ": " + x + ") (" + n[2] + ": " + y + ", " + n[3] + ": " + y + ") {");
  line("  " + n[4] + " = stablehlo." + of[0] + " " + n[0] + ", " + n[1] + " : " + x);
  line("  " + n[5] + " = stablehlo." + of[1] + " " + n[2] + ", " + n[3] + " : " + y);
  line("  stablehlo.return " + n[4] + ", " + n[5] + " : " + x + ", " + y);
  line("}");
  for (int i = 0; i < 2; ++i) {
    const bool sums = of[i] == "add";
    keepScaled({name + "#" + std::to_string(i), values[i].type, rest, sums ? Trust::Rounded : values[i].trust,
                sums ? values[i].bound * std::sqrt(static_cast<double>(count)) : values[i].bound});
  }
  return true;
}

} // namespace glia::graphs
