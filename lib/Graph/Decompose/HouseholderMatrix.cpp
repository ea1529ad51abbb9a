#include "HouseholderMatrix.h"
#include "TriangularMatrix.h"

namespace glia::emit {

using graph::ComparisonDirection;
using Value = mlir::Value;

namespace {

Value imag(MatrixBuilder &m, Value a) {
  return llvm::isa<mlir::ComplexType>(elementOf(a)) ? m.g.make("imag", {a}, m.real(a).getType()) : Value();
}

// One column of a panel after the other.
class Panel {
public:
  Panel(MatrixBuilder &m, Value a) : m(m), g(m.g), a(a) {}

  Reflections eliminate() {
    const int64_t batch = MatrixBuilder::batch(a), count = std::min(MatrixBuilder::rows(a), MatrixBuilder::columns(a));
    const Value taus = m.filled(0, mlir::RankedTensorType::get({batch, count}, elementOf(a)));
    const std::vector<Value> made = m.loop(
        count, {a, taus}, [&](Value at, const std::vector<Value> &carried) { return step(at, carried[0], carried[1]); });
    return {made[0], made[1]};
  }

private:
  MatrixBuilder &m;
  GraphBuilder &g;
  Value a;

  Value spread(Value number, Value like) { return g.broadcast(number, {0}, withElement(like, elementOf(number))); }
  Value squared(Value x) {
    const Value r = m.real(x), i = imag(m, x), square = g.multiply(r, r);
    return i ? g.add(square, g.multiply(i, i)) : square;
  }
  Value size(Value x) { // at least the larger part
    const Value i = imag(m, x), r = g.unary("abs", m.real(x));
    return i ? g.binary("maximum", r, g.unary("abs", i)) : r;
  }

  std::vector<Value> step(Value at, Value panel, Value taus) {
    const int64_t batch = MatrixBuilder::batch(panel), rows = MatrixBuilder::rows(panel);
    const Value column = g.reshape(m.at(panel, 2, at), {batch, rows}), alpha = g.reshape(m.at(column, 1, at), {batch});
    const auto places = mlir::RankedTensorType::get({batch, rows}, g.b.getI32Type());
    const auto compared = [&](ComparisonDirection how, mlir::RankedTensorType type, int64_t dim) {
      return g.compare(how, g.iota(type, dim), g.broadcast(at, {}, type));
    };
    const Value below = compared(ComparisonDirection::GT, places, 1), here = compared(ComparisonDirection::EQ, places, 1);
    const Value tail = g.select(below, column, m.filled(0, typeOf(column)));

    // The length of the column, whose squares are taken of numbers up to one.
    const auto scalar = mlir::RankedTensorType::get({}, elementOf(m.real(alpha)));
    const Value largest = g.binary("maximum", g.reduce("maximum", size(tail), g.number(0, scalar), {1}), size(alpha));
    const Value zero = g.number(0, largest), one = g.number(1, largest);
    const Value scale = g.select(g.compare(ComparisonDirection::GT, largest, zero), largest, one);
    const Value unit = m.asComplex(scale, alpha);
    const Value under = g.reduce("add", squared(g.divide(tail, spread(unit, tail))), g.number(0, scalar), {1});
    const Value length = g.multiply(scale, g.unary("sqrt", g.add(under, squared(g.divide(alpha, unit)))));

    const Value positive = g.compare(ComparisonDirection::GE, m.real(alpha), zero);
    Value done = g.compare(ComparisonDirection::EQ, under, zero); // nothing to eliminate
    if (const Value i = imag(m, alpha))
      done = g.binary("and", done, g.compare(ComparisonDirection::EQ, i, zero));
    const Value signedLength = m.asComplex(g.select(positive, g.unary("negate", length), length), alpha);
    const Value beta = g.select(done, alpha, signedLength), nothing = m.filled(0, typeOf(alpha)),
                ones = m.filled(1, typeOf(alpha));
    const Value tau = g.select(done, nothing, g.divide(g.subtract(beta, alpha), g.select(done, ones, beta)));
    const Value divisor = g.select(done, ones, g.subtract(alpha, beta));
    const Value scaled = g.divide(tail, spread(divisor, tail));
    const Value v = g.select(here, m.filled(1, typeOf(tail)), scaled);

    const Value along = g.reshape(m.conjugate(v), {batch, 1, rows});
    const Value w = m.product(along, panel); // [batch, 1, columns]
    const Value factor = g.multiply(v, spread(m.conjugate(tau), v));
    const Value less =
        g.subtract(panel, g.multiply(m.perRow(factor, panel),
                                     m.perColumn(g.reshape(w, {batch, MatrixBuilder::columns(panel)}), panel)));
    const Value stored = g.select(below, scaled, g.select(here, spread(beta, column), column));
    const auto all = withElement(panel, g.b.getI32Type());
    const Value right = compared(ComparisonDirection::GT, all, 2), same = compared(ComparisonDirection::EQ, all, 2);
    return {g.select(right, less, g.select(same, m.perRow(stored, panel), panel)),
            m.put(taus, g.reshape(tau, {batch, 1}), 1, at)};
  }
};

// v and t with I - v t v' the product of a panel's reflections.
struct Compact {
  Value v, t;
};
Compact compact(MatrixBuilder &m, Value panel, Value taus) {
  GraphBuilder &g = m.g;
  const int64_t count = typeOf(taus).getDimSize(1);
  const Value a = m.block(panel, 0, 0, MatrixBuilder::rows(panel), count);
  const Value ones = m.filled(1, typeOf(a));
  const Value v = m.onDiagonal(ones, m.triangle(a, true, -1));
  const Value between = m.product(m.adjoint(v), v);
  const Value weighted = m.triangle(g.multiply(m.perRow(taus, between), between), false, 1);
  return {v, g.multiply(invertTriangle(m, weighted, false, true), m.perColumn(taus, between))};
}

} // namespace

Reflections reflections(MatrixBuilder &m, Value a) {
  GraphBuilder &g = m.g;
  const int64_t rows = MatrixBuilder::rows(a), columns = MatrixBuilder::columns(a), width = std::min(columns, kMatrixBlock);
  const Reflections left = Panel(m, m.block(a, 0, 0, rows, width)).eliminate();
  if (columns == width)
    return left;
  const Compact q = compact(m, left.matrix, left.taus);
  const Value beside = m.block(a, 0, width, rows, columns - width);
  const Value right = g.subtract(beside, m.product(q.v, m.product(m.adjoint(q.t), m.product(m.adjoint(q.v), beside))));
  if (rows <= width)
    return {m.beside({left.matrix, right}), left.taus};
  const Reflections rest = reflections(m, m.block(right, width, 0, rows - width, columns - width));
  const Value done = m.block(right, 0, 0, width, columns - width);
  return {m.beside({left.matrix, m.above({done, rest.matrix})}), g.concatenate({left.taus, rest.taus}, 1)};
}

Value productOf(MatrixBuilder &m, Reflections of) {
  GraphBuilder &g = m.g;
  const int64_t rows = MatrixBuilder::rows(of.matrix), columns = MatrixBuilder::columns(of.matrix);
  const int64_t count = typeOf(of.taus).getDimSize(1), width = std::min(count, kMatrixBlock);
  Value rest = m.onDiagonal(m.filled(1, typeOf(of.matrix)), m.zeros(of.matrix));
  if (count == 0)
    return rest;
  if (count > width) {
    const Value inner =
        productOf(m, {m.block(of.matrix, width, width, rows - width, columns - width), g.slice(of.taus, 1, width, count)});
    const Value top = m.block(rest, 0, 0, width, columns), under = m.zeros(m.block(rest, width, 0, rows - width, width));
    rest = m.above({top, m.beside({under, inner})});
  }
  const Compact q = compact(m, m.block(of.matrix, 0, 0, rows, width), g.slice(of.taus, 1, 0, width));
  return g.subtract(rest, m.product(q.v, m.product(q.t, m.product(m.adjoint(q.v), rest))));
}

} // namespace glia::emit
