// Loops, branches and calls. Their bodies read values from outside where the language allows it.
#include "Generator.h"

#include <algorithm>
#include <cmath>

namespace glia::graphs {

namespace {

constexpr double kBound = 24; // no value that is kept is larger
constexpr size_t kDeepest = 3;

bool usable(const Value &v) { return v.trust != Trust::Decided && v.elements() < 5'000; }

// As a value is seen from inside a body that is run on several others.
Value inside(Generator &g, const Value &v) {
  return {g.fresh(), v.type, v.shape, v.type.isFloat() ? Trust::Rounded : Trust::Exact, kBound};
}

} // namespace

void Generator::enter(bool function) {
  Body inner;
  inner.function = function;
  inner.indent = function ? 4 : body().indent + 4;
  if (!function)
    inner.values = body().values;
  inner.own = inner.values.size();
  bodies.push_back(std::move(inner));
}

std::string Generator::leave() {
  std::string text = std::move(body().text);
  bodies.pop_back();
  return text;
}

void Generator::fill(int64_t steps) {
  for (int64_t made = 0, tries = 0; made < steps && tries < 20; ++tries) {
    const int64_t what = bodies.size() < kDeepest ? r.below(20) : 19;
    made += (what == 0   ? branch()
             : what == 1 ? countedLoop()
             : what == 2 ? call()
             : what == 3 ? openLoop()
                         : drawPlain())
                ? 1
                : 0;
  }
}

Value Generator::settled(const Value &like) {
  std::vector<Value> found;
  const std::vector<Value> &all = body().values;
  for (size_t i = body().own; i < all.size(); ++i)
    if (all[i].type == like.type && all[i].shape == like.shape && all[i].trust <= like.trust)
      found.push_back(all[i]);
  Value v = found.empty() || r.chance(10) ? like : found.back();
  if (v.name == like.name && like.type.isFloat())
    v = same("multiply", {like, splat(like.type, like.shape, 0.5)}, like.trust, like.bound / 2);
  if (v.type.isFloat() && v.bound > like.bound)
    v = same("multiply", {v, splat(v.type, v.shape, std::exp2(-std::ceil(std::log2(v.bound / like.bound))))}, v.trust,
             like.bound);
  return v;
}

namespace {

// %r:n = stablehlo.while(...): `limit` is a scalar i32 from outside or from the condition.
bool loopUntil(Generator &g, const std::function<Value()> &limit, bool fromOutside) {
  std::vector<Value> start;
  const int64_t count = g.r.between(1, 2);
  for (int64_t i = 0; i < count; ++i)
    if (const std::optional<Value> v = g.find(usable))
      start.push_back(*v);
  if (start.empty())
    return false;
  const Value first = g.integers(kI32, {}, 0, 1);
  std::optional<Value> end;
  if (fromOutside)
    end = limit();
  const Value counter{g.fresh(), kI32, {}, Trust::Exact, 1};
  std::string head = counter.name + " = " + first.name, types = first.text();
  std::vector<Value> carried;
  for (const Value &v : start) {
    carried.push_back(inside(g, v));
    head += ", " + carried.back().name + " = " + v.name;
    types += ", " + v.text();
  }
  // The condition.
  g.enter(false);
  const Value n = end ? *end : limit();
  const Value more = g.arrow("compare LT,", {counter, n}, "", kI1, {}, Trust::Exact, 1);
  g.line("stablehlo.return " + more.name + " : tensor<i1>");
  const std::string cond = g.leave();
  // The body.
  g.enter(false);
  g.keep(counter);
  for (const Value &v : carried)
    g.keep(v);
  g.body().own = g.body().values.size();
  const int64_t steps = g.r.between(1, 4);
  g.fill(steps);
  const Value next = g.same("add", {counter, g.splat(kI32, {}, 1)}, Trust::Exact, 1);
  std::string results = next.name;
  for (const Value &v : carried)
    results += ", " + g.settled(v).name;
  g.line("stablehlo.return " + results + " : " + types);
  const std::string body = g.leave();

  const std::string name = g.fresh();
  g.line(name + ":" + std::to_string(start.size() + 1) + " = stablehlo.while(" + head + ") : " + types);
  g.line(" cond {");
  g.body().text += cond;
  g.line("} do {");
  g.body().text += body;
  g.line("}");
  for (size_t i = 0; i < carried.size(); ++i) {
    Value v = carried[i];
    v.name = name + "#" + std::to_string(i + 1);
    g.keep(v);
  }
  if (g.r.chance(30))
    g.keep({name + "#0", kI32, {}, Trust::Exact, 1});
  return true;
}

} // namespace

bool Generator::countedLoop() {
  const int64_t n = r.between(0, 5);
  return loopUntil(*this, [&] { return splat(kI32, {}, static_cast<double>(n)); }, r.chance(50));
}

bool Generator::openLoop() {
  const auto limit = [&] {
    const Value n = argument(kI32, {}), seven = splat(kI32, {}, 7);
    return same("and", {n, seven}, Trust::Exact, 1);
  };
  return loopUntil(*this, limit, true);
}

bool Generator::branch() {
  const std::optional<Value> like = find(usable);
  if (!like)
    return false;
  const bool two = r.chance(60);
  const Value which = two ? of(kI1, {}) : scalarIndex();
  if (which.trust != Trust::Exact)
    return false;
  const int64_t count = two ? 2 : r.between(1, 4);
  Value result = *like; // as it is known from all branches
  result.trust = like->type.isFloat() ? Trust::Rounded : Trust::Exact;
  result.bound = kBound;
  if (!like->type.isFloat() && like->trust != Trust::Exact)
    return false;
  std::string text;
  for (int64_t i = 0; i < count; ++i) {
    enter(false);
    const int64_t steps = r.between(0, 3);
    fill(steps);
    const Value v = settled(result);
    line("stablehlo.return " + v.name + " : " + v.text());
    text += (i ? "}, {\n" : "") + leave() + std::string(static_cast<size_t>(body().indent), ' ');
  }
  keep(put(std::string("\"stablehlo.") + (two ? "if" : "case") + "\"(" + which.name + ") ({\n" + text + "}) : (" +
               which.text() + ") -> " + result.text(),
           result.type, result.shape, result.trust, result.bound));
  return true;
}

bool Generator::call() {
  std::vector<Value> actual, formal;
  const int64_t count = r.between(1, 3);
  for (int64_t i = 0; i < count; ++i)
    if (const std::optional<Value> v =
            find([](const Value &v) { return usable(v) && (v.type.isFloat() || v.trust == Trust::Exact); }))
      actual.push_back(*v);
  if (actual.empty())
    return false;
  std::string header, types, results;
  for (const Value &v : actual) {
    formal.push_back(inside(*this, v));
    header += (header.empty() ? "" : ", ") + formal.back().name + ": " + v.text();
    types += (types.empty() ? "" : ", ") + v.text();
  }
  enter(true);
  for (const Value &v : formal)
    keep(v);
  body().own = body().values.size();
  const int64_t steps = r.between(1, 6);
  fill(steps);
  std::vector<Value> returned;
  if (body().values.size() > body().own)
    returned.push_back(body().values.back());
  if (returned.empty() || r.chance(30))
    returned.push_back(settled(formal[0]));
  std::string names;
  for (const Value &v : returned) {
    names += (names.empty() ? "" : ", ") + v.name;
    results += (results.empty() ? "" : ", ") + v.text();
  }
  line("return " + names + " : " + results);
  const std::string text = leave(), function = "@f" + fresh().substr(2);
  functions += "  func.func private " + function + "(" + header + ") -> (" + results + ") {\n" + text + "  }\n";
  const int64_t calls = r.between(1, 3);
  for (int64_t i = 0; i < calls; ++i) {
    std::string operands;
    for (const Value &v : actual) {
      const auto fits = [&](const Value &o) { return o.type == v.type && o.shape == v.shape && o.trust <= Trust::Rounded; };
      const Value operand = i == 0 ? v : find(fits).value_or(v);
      operands += (operands.empty() ? "" : ", ") + operand.name;
    }
    const std::string name = fresh();
    const bool composite = r.chance(20);
    line(name + ":" + std::to_string(returned.size()) +
         (composite ? " = stablehlo.composite \"random.function\" " + operands + " {decomposition = " + function + "}"
                    : " = func.call " + function + "(" + operands + ")") +
         " : (" + types + ") -> (" + results + ")");
    for (size_t k = 0; k < returned.size(); ++k) {
      Value v = returned[k];
      v.name = name + "#" + std::to_string(k);
      keep(v);
    }
  }
  return true;
}

} // namespace glia::graphs
