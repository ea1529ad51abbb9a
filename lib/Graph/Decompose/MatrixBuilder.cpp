#include "MatrixBuilder.h"

namespace glia::emit {

using Value = mlir::Value;

mlir::RankedTensorType MatrixBuilder::type(Value like, int64_t rows, int64_t columns) {
  return mlir::RankedTensorType::get({batch(like), rows, columns}, elementOf(like));
}

Value MatrixBuilder::flat(Value a) {
  const llvm::ArrayRef<int64_t> shape = typeOf(a).getShape();
  int64_t count = 1;
  for (int64_t n : shape.drop_back(2))
    count *= n;
  return g.reshape(a, {count, shape[shape.size() - 2], shape.back()});
}
Value MatrixBuilder::shaped(Value a, Value like) { return g.reshape(a, typeOf(like).getShape()); }

Value MatrixBuilder::block(Value a, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  return g.slice(a, {0, row, column}, {batch(a), row + rows, column + columns});
}

Value MatrixBuilder::padded(Value a, int64_t rows, int64_t columns) {
  if (rows == 0 && columns == 0)
    return a;
  return g.pad(a, filled(0, mlir::RankedTensorType::get({}, elementOf(a))), {0, 0, 0}, {0, rows, columns});
}

static bool isComplex(Value a) { return llvm::isa<mlir::ComplexType>(elementOf(a)); }

Value MatrixBuilder::real(Value a) {
  if (!isComplex(a))
    return a;
  return g.make("real", {a}, withElement(a, llvm::cast<mlir::ComplexType>(elementOf(a)).getElementType()));
}
Value MatrixBuilder::asComplex(Value a, Value like) {
  if (!isComplex(like) || isComplex(a))
    return a;
  return g.make("complex", {a, g.number(0, a)}, withElement(a, elementOf(like)));
}
Value MatrixBuilder::conjugate(Value a) {
  if (!isComplex(a))
    return a;
  const Value x = real(a), y = g.make("imag", {a}, x.getType());
  return g.make("complex", {x, g.unary("negate", y)}, a.getType());
}

Value MatrixBuilder::filled(double value, mlir::RankedTensorType type) {
  const auto complex = llvm::dyn_cast<mlir::ComplexType>(type.getElementType());
  if (!complex)
    return g.number(value, type);
  const auto parts = mlir::RankedTensorType::get(type.getShape(), complex.getElementType());
  return g.make("complex", {g.number(value, parts), g.number(0, parts)}, type);
}

Value MatrixBuilder::product(Value a, Value b) {
  const auto axes = graph::DotDimensionNumbersAttr::get(g.b.getContext(), {0}, {0}, {2}, {1});
  return g.make("dot_general", {a, b}, type(a, rows(a), columns(b)), {g.b.getNamedAttr("dot_dimension_numbers", axes)});
}

Value MatrixBuilder::choose(const std::function<bool(int64_t, int64_t)> &where, Value a, Value b) {
  llvm::SmallVector<bool> bits;
  for (int64_t i = 0; i < rows(a); ++i)
    for (int64_t j = 0; j < columns(a); ++j)
      bits.push_back(where(i, j));
  const auto one = mlir::RankedTensorType::get({rows(a), columns(a)}, g.b.getI1Type());
  const Value mask = g.constant(mlir::DenseElementsAttr::get(one, bits));
  return g.select(g.broadcast(mask, {1, 2}, withElement(a, g.b.getI1Type())), a, b);
}
Value MatrixBuilder::places(graph::ComparisonDirection how, Value a, int64_t diagonal) {
  const auto one = mlir::RankedTensorType::get({rows(a), columns(a)}, g.b.getI32Type());
  const Value apart = g.subtract(g.iota(one, 1), g.iota(one, 0));
  const Value where = g.compare(how, apart, g.number(static_cast<double>(diagonal), one));
  return g.broadcast(where, {1, 2}, withElement(a, g.b.getI1Type()));
}
Value MatrixBuilder::onDiagonal(Value a, Value b) { return g.select(places(graph::ComparisonDirection::EQ, a, 0), a, b); }
Value MatrixBuilder::triangle(Value a, bool lower, int64_t diagonal) {
  const auto how = lower ? graph::ComparisonDirection::LE : graph::ComparisonDirection::GE;
  return g.select(places(how, a, diagonal), a, zeros(a));
}
Value MatrixBuilder::diagonal(Value a) {
  return g.reduce("add", onDiagonal(a, zeros(a)), filled(0, mlir::RankedTensorType::get({}, elementOf(a))), {2});
}
Value MatrixBuilder::perRow(Value v, Value like) { return g.broadcast(v, {0, 1}, withElement(like, elementOf(v))); }
Value MatrixBuilder::perColumn(Value v, Value like) { return g.broadcast(v, {0, 2}, withElement(like, elementOf(v))); }

MatrixBuilder::Carried MatrixBuilder::repeat(Carried carried, const std::function<Value(const Carried &)> &again,
                                             const std::function<Carried(const Carried &)> &body) {
  mlir::OperationState state(g.loc, "stablehlo.while");
  state.addOperands(carried);
  const llvm::SmallVector<mlir::Type> types(mlir::ValueRange(carried).getTypes());
  state.addTypes(types);
  const llvm::SmallVector<mlir::Location> places(types.size(), g.loc);
  const auto fill = [&](mlir::Region *region, const auto &make) {
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    mlir::Block *block = g.b.createBlock(region, {}, types, places);
    mlir::OperationState end(g.loc, "stablehlo.return");
    end.addOperands(make(Carried(block->args_begin(), block->args_end())));
    g.b.create(end);
  };
  fill(state.addRegion(), [&](const Carried &values) { return Carried{again(values)}; });
  fill(state.addRegion(), body);
  const auto results = g.b.create(state)->getResults();
  return {results.begin(), results.end()};
}

MatrixBuilder::Carried MatrixBuilder::loop(int64_t count, Carried carried,
                                           const std::function<Carried(Value at, const Carried &)> &body) {
  const auto counter = mlir::RankedTensorType::get({}, g.b.getI32Type());
  carried.insert(carried.begin(), g.number(0, counter));
  const auto again = [&](const Carried &values) {
    return g.compare(graph::ComparisonDirection::LT, values[0], g.number(static_cast<double>(count), counter));
  };
  carried = repeat(carried, again, [&](const Carried &values) {
    Carried next = body(values[0], {values.begin() + 1, values.end()});
    next.insert(next.begin(), g.add(values[0], g.number(1, counter)));
    return next;
  });
  carried.erase(carried.begin());
  return carried;
}

std::vector<Value> MatrixBuilder::starts(Value a, int64_t dim, Value place) {
  std::vector<Value> out;
  for (int64_t d = 0; d < typeOf(a).getRank(); ++d)
    out.push_back(d == dim ? place : g.number(0, place));
  return out;
}
Value MatrixBuilder::at(Value a, int64_t dim, Value place) {
  std::vector<int64_t> shape(typeOf(a).getShape());
  shape[static_cast<size_t>(dim)] = 1;
  std::vector<Value> operands = starts(a, dim, place);
  operands.insert(operands.begin(), a);
  return g.make("dynamic_slice", operands, mlir::RankedTensorType::get(shape, elementOf(a)),
                {g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(shape))});
}
Value MatrixBuilder::put(Value a, Value part, int64_t dim, Value place) {
  std::vector<Value> operands = starts(a, dim, place);
  operands.insert(operands.begin(), {a, part});
  return g.make("dynamic_update_slice", operands, a.getType());
}

} // namespace glia::emit
