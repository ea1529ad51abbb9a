// Attention in many forms, and what only looks like it: another axis, weights that somebody else needs, numbers beside the wrong rows.
#include "Generator.h"

#include <cmath>

namespace glia::graphs {

namespace {

// dot_general of [batch, rows, deep] and [batch, columns, deep], or with one of them the other way round.
Value product(Generator &g, const Value &a, const Value &b, int64_t deepA, int64_t deepB, Type t) {
  const int64_t rows = a.shape[static_cast<size_t>(3 - deepA)], columns = b.shape[static_cast<size_t>(3 - deepB)];
  const double bound = a.bound * b.bound * std::sqrt(static_cast<double>(a.shape[static_cast<size_t>(deepA)]));
  return g.arrow("dot_general", {a, b},
                 "batching_dims = [0] x [0], contracting_dims = [" + std::to_string(deepA) + "] x [" +
                     std::to_string(deepB) + "]",
                 t, {a.shape[0], rows, columns}, Trust::Rounded, bound);
}

Value turned(Generator &g, const Value &v) {
  return g.arrow("transpose", {v}, "dims = [0, 2, 1]", v.type, {v.shape[0], v.shape[2], v.shape[1]}, v.trust, v.bound);
}

// True where a sum of indices is not negative.
Value condition(Generator &g, const Shape &shape) {
  static const std::vector<std::string> ways = {"GE", "GT", "LE", "LT"};
  const Shape square{shape[1], shape[2]};
  const auto count = [&](int64_t dim) {
    return g.put("stablehlo.iota dim = " + std::to_string(dim) + " : " + tensorType(kI32, square), kI32, square,
                 Trust::Exact, 300);
  };
  Value row = count(0);
  const Value column = count(1);
  if (g.r.chance(50))
    row = g.same("add", {row, g.splat(kI32, square, static_cast<double>(g.r.between(-40, 40)))}, Trust::Exact, 300);
  const auto compare = [&](const std::string &how) {
    return g.arrow("compare " + how + ",", {row, column}, "", kI1, square, Trust::Exact, 1);
  };
  Value keep = compare(g.r.pick(ways));
  if (g.r.chance(20))
    keep = g.same("and", {keep, compare(g.r.pick(ways))}, Trust::Exact, 1);
  return g.arrow("broadcast_in_dim", {keep}, "dims = [1, 2]", kI1, shape, Trust::Exact, 1);
}

// A tensor that is repeated along some dimensions of the scores, or lies the other way round.
Value beside(Generator &g, Type t, const Shape &shape) {
  Shape own;
  std::string dims;
  const bool other = g.r.chance(20);
  for (size_t i : other ? std::vector<size_t>{0, 2, 1} : std::vector<size_t>{0, 1, 2})
    if (g.r.chance(65)) {
      own.push_back(shape[i]);
      dims += (dims.empty() ? "" : ", ") + std::to_string(i);
    }
  const Value v = g.of(t, own);
  return g.arrow("broadcast_in_dim", {v}, "dims = [" + dims + "]", t, shape, v.trust, v.bound);
}

// What models do with scores before the softmax.
Value stepped(Generator &g, Value x) {
  static const std::vector<std::string> ways = {"add", "add", "subtract", "multiply", "maximum"};
  if (g.r.chance(30)) {
    const double cap = g.r.chance(50) ? 50 : 2;
    x = g.same("divide", {x, g.splat(x.type, x.shape, cap)}, Trust::Rounded, x.bound / cap);
    x = g.same("tanh", {x}, Trust::Rounded, 1);
    x = g.same("multiply", {x, g.splat(x.type, x.shape, cap)}, Trust::Rounded, cap);
  }
  if (g.r.chance(60)) {
    const Value b = g.clamped(beside(g, x.type, x.shape), 4);
    const std::string op = g.r.pick(ways);
    x = g.same(op, g.r.chance(30) ? std::vector<Value>{b, x} : std::vector<Value>{x, b}, Trust::Rounded,
               op == "multiply" ? x.bound * b.bound : x.bound + b.bound);
  }
  if (g.r.chance(40)) {
    const Value mask = beside(g, kI1, x.shape), number = g.splat(x.type, x.shape, g.r.chance(50) ? -30000 : -HUGE_VAL);
    x = g.arrow("select", g.r.chance(70) ? std::vector<Value>{mask, x, number} : std::vector<Value>{mask, number, x}, "",
                x.type, x.shape, Trust::Rounded, x.bound);
  }
  return x;
}

} // namespace

bool Generator::weightedMean() {
  static const std::vector<int64_t> sizes = {128, 128, 129, 150, 200, 128}, depths = {1, 3, 16, 31, 64, 96, 128, 130};
  const Type t = r.chance(50) ? kF32 : r.chance(70) ? kBF16 : kF16;
  const int64_t rows = r.pick(sizes), columns = r.chance(40) ? rows : r.pick(sizes), deep = r.pick(depths),
                width = r.pick(depths);
  const int64_t batches = rows * columns * 2 > kMostElements ? 1 : r.between(1, 2);
  const bool leftTurned = r.chance(30), rightTurned = r.chance(30), valuesTurned = r.chance(20), scoresTurned = r.chance(25);
  const auto operand = [&](int64_t n, int64_t m, bool other) {
    return of(t, other ? Shape{batches, m, n} : Shape{batches, n, m});
  };
  Value x = product(*this, operand(rows, deep, leftTurned), operand(columns, deep, rightTurned), leftTurned ? 1 : 2,
                    rightTurned ? 1 : 2, r.chance(60) ? t : kF32);
  const auto number = [&](double n) { return splat(x.type, x.shape, n); };
  if (r.chance(70))
    x = same("multiply", {x, number(1 / std::sqrt(static_cast<double>(deep)))}, Trust::Rounded, 4);
  if (r.chance(50))
    x = stepped(*this, x);
  if (r.chance(50))
    x = arrow("select",
              {condition(*this, x.shape), x,
               number(r.chance(50)   ? -HUGE_VAL
                      : r.chance(50) ? -30000
                                     : 0.5)},
              "", x.type, x.shape, Trust::Rounded, x.bound);
  int64_t dim = 2;
  if (scoresTurned) {
    x = turned(*this, x);
    dim = 1;
  }
  if (r.chance(8))
    dim = 3 - dim; // of columns instead of rows
  Shape rest = x.shape;
  rest.erase(rest.begin() + dim);
  const auto reduced = [&](const Value &v, const char *op, double start) {
    const Value init = splat(v.type, {}, start);
    return put("stablehlo.reduce(" + v.name + " init: " + init.name + ") applies stablehlo." + op +
                   " across dimensions = [" + std::to_string(dim) + "] : (" + v.text() + ", " + init.text() + ") -> " +
                   tensorType(v.type, rest),
               v.type, rest, Trust::Rounded, v.bound * std::sqrt(static_cast<double>(x.shape[static_cast<size_t>(dim)])));
  };
  const bool crossed = x.shape[1] == x.shape[2] && r.chance(8); // beside columns instead of rows
  const auto spread = [&](const Value &v) {
    return arrow("broadcast_in_dim", {v}, (dim == 1) != crossed ? "dims = [0, 2]" : "dims = [0, 1]", x.type, x.shape,
                 v.trust, v.bound);
  };
  const Value e =
      same("exponential", {same("subtract", {x, spread(reduced(x, "maximum", -HUGE_VAL))}, Trust::Rounded, 2 * x.bound)},
           Trust::Rounded, crossed ? 50 : 1);
  Value weights = same("divide", {e, spread(reduced(e, "add", 0))}, Trust::Rounded, 1);
  if (r.chance(15))
    keep(weights);
  if (r.chance(10))
    weights = same("multiply", {weights, splat(weights.type, weights.shape, 0.5)}, Trust::Rounded, 1);
  const Value values = operand(columns, width, valuesTurned);
  if (weights.type != values.type)
    weights = arrow("convert", {weights}, "", values.type, weights.shape, weights.trust, weights.bound);
  const int64_t over = scoresTurned ? 1 : 2, side = valuesTurned ? 2 : 1;
  keepScaled(r.chance(60) ? product(*this, weights, values, over, side, r.chance(70) ? t : kF32)
                          : product(*this, values, weights, side, over, t));
  return true;
}

} // namespace glia::graphs
