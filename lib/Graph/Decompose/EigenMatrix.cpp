#include "EigenMatrix.h"

#include <limits>

namespace glia::emit {

using graph::ComparisonDirection;
using Value = mlir::Value;

namespace {

constexpr int64_t kSweeps = 15;   // at most; half as many are usual
constexpr double kLeft = 0x1p-22; // of the whole, beside the diagonal, is none

// Half of the rows are rotated with the other half, row i with row i + n/2, then rows change places so that after n - 1 rounds each has met
// every other one.
class Jacobi {
public:
  Jacobi(MatrixBuilder &m, Value a) : m(m), g(m.g), half(MatrixBuilder::rows(a) / 2) {}

  // The rotated matrix and vectors, which are rows.
  MatrixBuilder::Carried run(Value a) {
    const auto scalar = mlir::RankedTensorType::get({}, g.b.getI32Type());
    const Value vectors = m.onDiagonal(m.filled(1, typeOf(a)), m.zeros(a));
    const auto again = [](const MatrixBuilder::Carried &c) { return c[1]; };
    const auto round = [&](const MatrixBuilder::Carried &c) -> MatrixBuilder::Carried {
      const Rotation r = rotation(c[2]);
      const Value next = rotated(m.adjoint(rotated(c[2], r)), r), count = g.add(c[0], g.number(1, c[0]));
      const Value more =
          g.compare(ComparisonDirection::LT, count, g.number(static_cast<double>(kSweeps * (2 * half - 1)), count));
      return {count, g.binary("and", more, isLeft(next)), next, rotated(c[3], r)};
    };
    const MatrixBuilder::Carried made = m.repeat({g.number(0, scalar), isLeft(a), a, vectors}, again, round);
    return {made[2], made[3]};
  }

private:
  MatrixBuilder &m;
  GraphBuilder &g;
  int64_t half;

  struct Rotation {
    Value c, s, turn; // [batch, half]; `turn` makes the element beside the diagonal real, if it is complex
  };

  Value sum(Value a) { return g.reduce("add", a, g.number(0, mlir::RankedTensorType::get({}, elementOf(a))), {1, 2}); }
  // Whether a matrix of the batch has something beside its diagonal.
  Value isLeft(Value a) {
    const Value x = magnitude(a), all = g.multiply(x, x);
    const Value beside = sum(m.onDiagonal(m.zeros(all), all));
    const Value much = g.compare(ComparisonDirection::GT, beside, g.multiply(sum(all), g.number(kLeft * kLeft, beside)));
    return g.reduce("or", much, g.number(0, mlir::RankedTensorType::get({}, g.b.getI1Type())), {0});
  }
  Value magnitude(Value a) { return g.make("abs", {a}, m.real(a).getType()); }

  Rotation rotation(Value a) {
    const auto on = [&](int64_t row, int64_t column) { return m.diagonal(m.block(a, row, column, half, half)); };
    const Value p = m.real(on(0, 0)), q = m.real(on(half, half)), beside = on(0, half), size = magnitude(beside);
    const Value one = g.number(1, p), zero = g.number(0, p);
    const bool complex = llvm::isa<mlir::ComplexType>(elementOf(a));
    const Value value = complex ? size : beside, none = g.compare(ComparisonDirection::LT, size, g.number(0x1p-60, size));
    const Value safe = g.select(none, one, value);
    const Value tau = g.divide(g.multiply(g.number(0.5, p), g.subtract(q, p)), safe);
    const Value root = g.unary("sqrt", g.add(one, g.multiply(tau, tau)));
    const Value t = g.divide(g.select(g.compare(ComparisonDirection::GE, tau, zero), one, g.number(-1, p)),
                             g.add(g.unary("abs", tau), root));
    const Value c = g.unary("rsqrt", g.add(one, g.multiply(t, t)));
    const Value turn =
        !complex ? Value() : g.select(none, m.filled(1, typeOf(beside)), g.divide(beside, m.asComplex(safe, beside)));
    return {g.select(none, one, c), g.select(none, zero, g.multiply(t, c)), turn};
  }

  // Rows rotated, and at their next places.
  Value rotated(Value a, const Rotation &r) {
    const int64_t n = MatrixBuilder::columns(a);
    const Value top = m.block(a, 0, 0, half, n);
    Value bottom = m.block(a, half, 0, half, n);
    if (r.turn)
      bottom = g.multiply(bottom, m.perRow(r.turn, bottom));
    const Value c = m.perRow(m.asComplex(r.c, a), top), s = m.perRow(m.asComplex(r.s, a), top);
    const Value x = g.subtract(g.multiply(c, top), g.multiply(s, bottom));
    const Value y = g.add(g.multiply(s, top), g.multiply(c, bottom));
    if (half == 1)
      return m.above({x, y});
    const auto rows = [&](Value v, int64_t from, int64_t to) { return m.block(v, from, 0, to - from, n); };
    std::vector<Value> parts = {rows(x, 0, 1), rows(y, 0, 1)};
    if (half > 2)
      parts.push_back(rows(x, 1, half - 1));
    parts.push_back(rows(y, 1, half));
    parts.push_back(rows(x, half - 1, half));
    return m.above(parts);
  }
};

// Values in ascending order, and the places that they come from.
std::pair<Value, Value> sorted(MatrixBuilder &m, Value values) {
  GraphBuilder &g = m.g;
  const Value places = g.iota(withElement(values, g.b.getI32Type()), 1);
  mlir::OperationState state(
      g.loc, "stablehlo.sort", {values, places}, {values.getType(), places.getType()},
      {g.b.getNamedAttr("dimension", g.b.getI64IntegerAttr(1)), g.b.getNamedAttr("is_stable", g.b.getBoolAttr(true))});
  {
    mlir::Region *body = state.addRegion();
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    const mlir::Type number = mlir::RankedTensorType::get({}, elementOf(values)),
                     place = mlir::RankedTensorType::get({}, g.b.getI32Type());
    mlir::Block *block = g.b.createBlock(body, {}, {number, number, place, place}, {g.loc, g.loc, g.loc, g.loc});
    mlir::OperationState end(g.loc, "stablehlo.return");
    end.addOperands(g.compareTotal(ComparisonDirection::LT, block->getArgument(0), block->getArgument(1)));
    g.b.create(end);
  }
  mlir::Operation *op = g.b.create(state);
  return {op->getResult(0), op->getResult(1)};
}

} // namespace

Eigen eigen(MatrixBuilder &m, Value a, bool lower) {
  GraphBuilder &g = m.g;
  const int64_t n = MatrixBuilder::rows(a), batch = MatrixBuilder::batch(a), rest = n % 2;
  const Value strict = m.triangle(a, lower, lower ? -1 : 1);
  const Value middle = m.asComplex(m.real(m.onDiagonal(a, m.zeros(a))), a); // a diagonal is real
  a = g.add(g.add(strict, m.adjoint(strict)), middle);

  // Numbers up to one; a row more, whose value comes last, makes their number even.
  const Value parts = g.make("abs", {a}, m.real(a).getType()),
              zero = g.number(0, mlir::RankedTensorType::get({}, elementOf(parts)));
  const Value largest = g.reduce("maximum", parts, zero, {1, 2});
  const Value usable = g.binary("and", g.compare(ComparisonDirection::GE, largest, g.number(0x1p-126, largest)),
                                g.unary("not", g.compare(ComparisonDirection::GE, largest,
                                                         g.number(std::numeric_limits<double>::infinity(), largest))));
  const Value scale = g.select(usable, largest, g.number(1, largest));
  Value scaled = g.divide(a, m.asComplex(g.broadcast(scale, {0}, typeOf(parts)), a));
  scaled = m.padded(scaled, rest, rest);
  if (rest > 0) {
    const Value far = m.padded(m.zeros(a), rest, rest);
    const Value corner = m.filled(static_cast<double>(4 * n), typeOf(far));
    const auto row = mlir::RankedTensorType::get({batch, n + 1}, g.b.getI32Type());
    const Value last = g.compare(ComparisonDirection::EQ, g.iota(row, 1), g.number(static_cast<double>(n), row));
    scaled = g.select(m.perRow(last, scaled), m.onDiagonal(corner, far), scaled);
  }
  const MatrixBuilder::Carried made = Jacobi(m, scaled).run(scaled);

  // What the vectors make of the matrix itself says the values: its error is the square of theirs. They are rows.
  const Value found = made[1], moved = m.product(found, scaled);
  const auto along = [&](Value x) {
    const Value terms = m.real(g.multiply(x, m.conjugate(found)));
    return g.reduce("add", terms, g.number(0, mlir::RankedTensorType::get({}, elementOf(terms))), {2});
  };
  const Value squares = along(found), lengths = g.unary("rsqrt", squares);
  const Value unit = g.multiply(found, m.perRow(m.asComplex(lengths, found), found));
  const auto [values, places] = sorted(m, g.divide(along(moved), squares));
  const auto square = withElement(made[0], g.b.getI32Type());
  const Value taken = g.compare(ComparisonDirection::EQ, g.broadcast(places, {0, 1}, square), g.iota(square, 2));
  const Value order = g.select(taken, m.filled(1, typeOf(unit)), m.zeros(unit));
  const Value vectors = m.block(m.adjoint(m.product(order, unit)), 0, 0, n, n);

  const Value finite =
      g.compare(ComparisonDirection::LT, largest, g.number(std::numeric_limits<double>::infinity(), largest));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Value kept = g.multiply(g.slice(values, 1, 0, n),
                                g.broadcast(scale, {0}, mlir::RankedTensorType::get({batch, n}, elementOf(values))));
  const auto truth = [&](Value like) { return g.broadcast(finite, {0}, withElement(like, g.b.getI1Type())); };
  return {g.select(truth(vectors), vectors, m.filled(nan, typeOf(vectors))),
          g.select(truth(kept), kept, g.number(nan, kept))};
}

} // namespace glia::emit
