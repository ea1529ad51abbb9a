// Draws operations until the graph is long enough, then returns what nobody reads.
#include "Generate.h"
#include "Generator.h"

#include <algorithm>

namespace glia::graphs {

namespace {

struct Part {
  std::string_view name;
  int weight;
  bool (Generator::*make)();
  bool plain; // may stand in loops, branches and functions
};

const std::vector<Part> &parts() {
  static const std::vector<Part> all = {
      {"pointwise", 24, &Generator::pointwise, true},
      {"integer", 10, &Generator::integer, true},
      {"compare", 8, &Generator::compareSelect, true},
      {"convert", 6, &Generator::convert, true},
      {"pattern", 6, &Generator::pattern, true},
      {"scan", 2, &Generator::scan, false},
      {"mean", 1, &Generator::weightedMean, true},
      {"broadcast", 6, &Generator::broadcast, true},
      {"reshape", 4, &Generator::reshape, true},
      {"transpose", 5, &Generator::transpose, true},
      {"slice", 4, &Generator::slice, true},
      {"pad", 4, &Generator::pad, true},
      {"concatenate", 3, &Generator::concatenate, true},
      {"reverse", 2, &Generator::reverse, true},
      {"iota", 2, &Generator::iota, true},
      {"constant", 2, &Generator::constantNumbers, true},
      {"dynamic-slice", 2, &Generator::dynamicSlice, true},
      {"dynamic-update", 2, &Generator::dynamicUpdate, true},
      {"reduce", 9, &Generator::reduce, true},
      {"argmax", 1, &Generator::argmax, true},
      {"reduce-window", 3, &Generator::reduceWindow, true},
      {"select-and-scatter", 1, &Generator::selectAndScatter, true},
      {"dot", 7, &Generator::dot, true},
      {"convolution", 4, &Generator::convolution, true},
      {"gather", 2, &Generator::gather, true},
      {"scatter", 2, &Generator::scatter, true},
      {"gather-windows", 2, &Generator::gatherWindows, true},
      {"scatter-windows", 2, &Generator::scatterWindows, true},
      {"top-k", 1, &Generator::topK, true},
      {"sort", 1, &Generator::sort, true},
      {"wide", 1, &Generator::wide, true},
      {"running", 1, &Generator::running, true},
      {"reduce-pair", 1, &Generator::reducePair, true},
      {"complex", 2, &Generator::complexNumbers, true},
      {"fourier", 1, &Generator::fourier, true},
      {"linalg", 1, &Generator::linalg, true},
      {"narrow", 2, &Generator::narrow, true},
      {"loop", 2, &Generator::countedLoop, false},
      {"open-loop", 1, &Generator::openLoop, false},
      {"branch", 2, &Generator::branch, false},
      {"call", 3, &Generator::call, false},
  };
  return all;
}

bool drawn(Generator &g, bool plain) {
  int64_t all = 0;
  const auto weight = [&](const Part &p) {
    return (plain && !p.plain) || g.leftOut(p.name) ? 0 : p.name == g.choice.family ? 100 : p.weight;
  };
  for (const Part &p : parts())
    all += weight(p);
  int64_t at = g.r.below(all);
  for (const Part &p : parts()) {
    at -= weight(p);
    if (at < 0)
      return (g.*p.make)();
  }
  return false;
}

const char *const kTrust[] = {"exact", "rounded", "decided"};

} // namespace

const std::vector<std::string_view> &familyNames() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    for (const Part &p : parts())
      out.push_back(p.name);
    return out;
  }();
  return names;
}

bool Generator::draw() { return drawn(*this, false); }
bool Generator::drawPlain() { return drawn(*this, true); }

std::string Generator::module() {
  bodies.emplace_back();
  bodies[0].function = true;
  bodies[0].indent = 4;
  const int64_t first = r.between(1, 3);
  for (int64_t i = 0; i < first; ++i) {
    const Type t = i == 0 ? floatType() : anyType();
    Shape shape = anyShape();
    if (!shape.empty() && r.chance(3)) // without elements
      shape[static_cast<size_t>(r.below(static_cast<int64_t>(shape.size())))] = 0;
    argument(t, shape);
  }
  const int64_t steps = r.chance(92) ? r.between(2, 16) : r.between(16, 40);
  for (int64_t made = 0, tries = 0; made < steps && tries < 3 * steps + 20; ++tries)
    made += draw() ? 1 : 0;
  return finishMain();
}

std::string Generator::finishMain() {
  Body &main = bodies[0];
  const auto isRead = [&](const Value &v) {
    for (const char *end : {" ", ",", ")", "#", "\n"}) // not as a part of a longer name; not where it is made
      for (size_t at = main.text.find(v.name + end); at != std::string::npos; at = main.text.find(v.name + end, at + 1))
        if (main.text.compare(at + v.name.size(), 2, " =") != 0)
          return true;
    return false;
  };
  std::vector<Value> results;
  for (const Value &v : main.values) {
    const bool known = std::any_of(results.begin(), results.end(), [&](const Value &o) { return o.name == v.name; });
    if (v.name[1] != 'a' && !known && (!isRead(v) || r.chance(10)))
      results.push_back(v);
  }
  if (results.empty())
    results.push_back(same(main.arguments[0].type.isFloat() ? "negate" : "not", {main.arguments[0]}, Trust::Exact, 4));
  std::string out = "module @random {\n  func.func public @main(", types, names, trust;
  std::vector<bool> taken(results.size()); // by an argument that is given away
  for (const Value &a : main.arguments) {
    out += (a.name == "%a0" ? "" : ", ") + a.name + ": " + a.text();
    for (size_t i = 0; i < results.size(); ++i)
      if (!taken[i] && results[i].text() == a.text() && r.chance(30)) {
        taken[i] = true;
        out += " {tf.aliasing_output = " + std::to_string(i) + " : i32}";
        break;
      }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    types += (i ? ", " : "") + results[i].text();
    names += (i ? ", " : "") + results[i].name;
    trust += "// result " + std::to_string(i) + ": " + kTrust[static_cast<int>(results[i].trust)] + "\n";
  }
  out += ") -> (" + types + ") {\n" + main.text + "    return " + names + " : " + types + "\n  }\n" + functions + "}\n";
  return trust + out;
}

std::string generate(Random &random, const Choice &choice) { return Generator(random, choice).module(); }

} // namespace glia::graphs
