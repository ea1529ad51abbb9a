#include "TriangularMatrix.h"

namespace glia::emit {

using Value = mlir::Value;

// The inverse of diagonal blocks of twice the size comes from those of the smaller ones, x: the block c beside a pair of them is
// -x c x in it. All pairs of a size are in two products.
Value invertTriangle(MatrixBuilder &m, Value a, bool lower, bool unitDiagonal) {
  const int64_t n = MatrixBuilder::rows(a);
  const Value zeros = m.zeros(a), ones = m.filled(1, typeOf(a));
  Value x = m.onDiagonal(unitDiagonal ? ones : m.g.divide(ones, a), zeros);
  for (int64_t size = 1; size < n; size *= 2) {
    const auto beside = [&](int64_t i, int64_t j) {
      const int64_t row = (lower ? i : j) / size, column = (lower ? j : i) / size;
      return row % 2 == 1 && column == row - 1;
    };
    x = m.g.subtract(x, m.product(m.product(x, m.choose(beside, a, zeros)), x));
  }
  return x;
}

namespace {

// Equations in blocks: those of the blocks [from, to), the first half before the second or the other way round, whose right side is
// then known.
class BlockSolver {
public:
  BlockSolver(MatrixBuilder &m, Value a, bool lower, bool unitDiagonal)
      : m(m), lower(lower), count((MatrixBuilder::rows(a) + kMatrixBlock - 1) / kMatrixBlock),
        size((MatrixBuilder::rows(a) + count - 1) / count), rest(count * size - MatrixBuilder::rows(a)),
        a(m.padded(a, rest, rest)) {
    std::vector<Value> blocks;
    for (int64_t i = 0; i < count; ++i)
      blocks.push_back(m.block(this->a, i * size, i * size, size, size));
    if (rest > 0) // equations that say x = 0
      blocks.back() = m.choose([&](int64_t i, int64_t j) { return i == j && i >= size - rest; },
                               m.filled(1, typeOf(blocks[0])), blocks.back());
    diagonal = m.triangle(m.g.concatenate(blocks, 0), lower);
    if (unitDiagonal)
      diagonal = m.onDiagonal(m.filled(1, typeOf(diagonal)), diagonal);
    inverse = invertTriangle(m, diagonal, lower, unitDiagonal);
  }

  Value solve(Value b) {
    const int64_t n = MatrixBuilder::rows(b);
    const Value x = solve(m.padded(b, rest, 0), 0, count);
    return m.block(x, 0, 0, n, MatrixBuilder::columns(b));
  }

private:
  MatrixBuilder &m;
  bool lower;
  int64_t count, size, rest;
  Value a, diagonal, inverse;

  Value one(Value blocks, int64_t i) {
    const int64_t batch = MatrixBuilder::batch(a);
    return m.g.slice(blocks, 0, i * batch, (i + 1) * batch);
  }

  Value solve(Value b, int64_t from, int64_t to) {
    const int64_t columns = MatrixBuilder::columns(b);
    if (to - from == 1) { // and once more for what the inverse left over
      const Value i = one(inverse, from), x = m.product(i, b);
      return m.g.add(x, m.product(i, m.g.subtract(b, m.product(one(diagonal, from), x))));
    }
    const int64_t middle = from + (to - from + 1) / 2, top = (middle - from) * size, bottom = (to - middle) * size;
    const Value upper = m.block(b, 0, 0, top, columns), under = m.block(b, top, 0, bottom, columns);
    if (lower) {
      const Value x = solve(upper, from, middle), beside = m.block(a, middle * size, from * size, bottom, top);
      return m.above({x, solve(m.g.subtract(under, m.product(beside, x)), middle, to)});
    }
    const Value y = solve(under, middle, to), beside = m.block(a, from * size, middle * size, top, bottom);
    return m.above({solve(m.g.subtract(upper, m.product(beside, y)), from, middle), y});
  }
};

} // namespace

Value solveTriangular(MatrixBuilder &m, Value a, Value b, bool lower, bool unitDiagonal) {
  return BlockSolver(m, a, lower, unitDiagonal).solve(b);
}

} // namespace glia::emit
