// Writes operations on batches of matrices: values of the shape [batch, rows, columns]. What decompositions of linear algebra are made of.
#pragma once
#include "Graph/Analysis/GraphBuilder.h"

#include <functional>

namespace glia::emit {

class MatrixBuilder {
public:
  using Value = mlir::Value;
  explicit MatrixBuilder(GraphBuilder &g) : g(g) {}

  static int64_t batch(Value a) { return typeOf(a).getDimSize(0); }
  static int64_t rows(Value a) { return typeOf(a).getDimSize(1); }
  static int64_t columns(Value a) { return typeOf(a).getDimSize(2); }

  Value flat(Value a);               // all dimensions but the last two become the batch
  Value shaped(Value a, Value like); // and back
  mlir::RankedTensorType type(Value like, int64_t rows, int64_t columns);

  Value block(Value a, int64_t row, int64_t column, int64_t rows, int64_t columns);
  Value above(llvm::ArrayRef<Value> parts) { return g.concatenate(parts, 1); }
  Value beside(llvm::ArrayRef<Value> parts) { return g.concatenate(parts, 2); }
  Value padded(Value a, int64_t rows, int64_t columns); // zeros behind and below
  Value conjugate(Value a);                             // a itself if it is real
  Value transpose(Value a) { return g.transpose(a, {0, 2, 1}); }
  Value adjoint(Value a) { return conjugate(transpose(a)); }
  Value product(Value a, Value b);
  Value zeros(Value like) { return filled(0, typeOf(like)); }
  Value filled(double value, mlir::RankedTensorType type); // of complex numbers too

  // Elements of `a` where `where(row, column)` holds, and those of `b` elsewhere; of small matrices, since it is a constant.
  Value choose(const std::function<bool(int64_t row, int64_t column)> &where, Value a, Value b);
  Value onDiagonal(Value a, Value b);                        // elements of `a` there, and those of `b` elsewhere
  Value triangle(Value a, bool lower, int64_t diagonal = 0); // as numpy.tril and triu
  Value diagonal(Value a);                                   // [batch, n] of square matrices
  Value perRow(Value v, Value like);                         // [batch, rows], the same in each column
  Value perColumn(Value v, Value like);

  Value real(Value a);                  // a itself if it is real
  Value asComplex(Value a, Value like); // if `like` is complex; a real `a` otherwise as it is

  // Loops of the graph. body(counter, carried) gives the next carried values; the other loop goes on while `again` of them holds.
  using Carried = std::vector<Value>;
  Carried loop(int64_t count, Carried carried, const std::function<Carried(Value at, const Carried &)> &body);
  Carried repeat(Carried carried, const std::function<Value(const Carried &)> &again,
                 const std::function<Carried(const Carried &)> &body);
  // One element of a dimension, at a place that is computed.
  Value at(Value a, int64_t dim, Value place);
  Value put(Value a, Value part, int64_t dim, Value place);

  GraphBuilder &g;

private:
  Value places(graph::ComparisonDirection how, Value a, int64_t diagonal); // where column - row compares so with it
  std::vector<Value> starts(Value a, int64_t dim, Value place);
};

} // namespace glia::emit
