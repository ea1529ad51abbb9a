#include "ScatterByPlace.h"
#include "Graph/Analysis/PlainBody.h"

#include <numeric>

namespace glia::emit {

namespace {

using Numbers = llvm::SmallVector<int64_t>;
using Values = llvm::SmallVector<mlir::Value>;

constexpr int64_t kFewPlaces = 8; // are written out; more are a loop

struct Places {
  mlir::Value indices;
  Values updates; // of each tensor
  graph::ScatterDimensionNumbersAttr numbers;
};

void endWith(GraphBuilder &g, mlir::ValueRange values) {
  mlir::OperationState end(g.loc, "stablehlo.return");
  end.addOperands(values);
  g.b.create(end);
}

// The window at a place, as far as it goes along each dimension of the tensor.
Numbers windowSizes(mlir::Value tensor, mlir::Value update, graph::ScatterDimensionNumbersAttr n) {
  Numbers out;
  size_t next = 0;
  for (int64_t d = 0; d < typeOf(tensor).getRank(); ++d) {
    const bool one = llvm::is_contained(n.getInsertedWindowDims(), d) || llvm::is_contained(n.getInputBatchingDims(), d);
    out.push_back(one ? 1 : typeOf(update).getDimSize(n.getUpdateWindowDims()[next++]));
  }
  return out;
}

// Each update in its place, instead of what is there.
mlir::Value replaced(GraphBuilder &g, mlir::Value tensor, const Places &at, mlir::Value update) {
  mlir::OperationState state(g.loc, "stablehlo.scatter", {tensor, at.indices, update}, {tensor.getType()},
                             {g.b.getNamedAttr("scatter_dimension_numbers", at.numbers),
                              g.b.getNamedAttr("unique_indices", g.b.getBoolAttr(true))});
  mlir::Region *body = state.addRegion();
  {
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    const mlir::Type scalar = mlir::RankedTensorType::get({}, elementOf(tensor));
    endWith(g, g.b.createBlock(body, {}, {scalar, scalar}, {g.loc, g.loc})->getArgument(1));
  }
  return g.b.create(state)->getResult(0);
}

// Of places that are named once. Windows that leave the tensor are moved inside by the gather, and left out by the scatter.
Values together(GraphBuilder &g, mlir::ValueRange tensors, const Places &at, mlir::Block &body) {
  const graph::ScatterDimensionNumbersAttr n = at.numbers;
  const auto where = graph::GatherDimensionNumbersAttr::get(
      n.getContext(), n.getUpdateWindowDims(), n.getInsertedWindowDims(), n.getInputBatchingDims(),
      n.getScatterIndicesBatchingDims(), n.getScatterDimsToOperandDims(), n.getIndexVectorDim());
  Values both;
  for (auto [tensor, update] : llvm::zip(tensors, at.updates))
    both.push_back(g.make("gather", {tensor, at.indices}, withElement(update, elementOf(tensor)),
                          {g.b.getNamedAttr("dimension_numbers", where),
                           g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(windowSizes(tensor, update, n)))}));
  llvm::append_range(both, at.updates);
  Values out;
  for (auto [tensor, combined] : llvm::zip(tensors, applied(g, body, both)))
    out.push_back(replaced(g, tensor, at, combined));
  return out;
}

// Index vectors as rows, with the dimensions that go along with the tensor's as components.
mlir::Value indexRows(GraphBuilder &g, mlir::Value indices, graph::ScatterDimensionNumbersAttr n) {
  const int64_t rank = typeOf(indices).getRank(), vector = n.getIndexVectorDim();
  Numbers order, shape;
  for (int64_t d = 0; d < rank; ++d)
    if (d != vector) {
      order.push_back(d);
      shape.push_back(typeOf(indices).getDimSize(d));
    }
  if (vector < rank)
    order.push_back(vector);
  Numbers last = shape;
  last.push_back(vector < rank ? typeOf(indices).getDimSize(vector) : 1);
  std::vector<mlir::Value> components{g.reshape(g.transpose(indices, order), last)};
  last.back() = 1;
  for (int64_t d : n.getScatterIndicesBatchingDims())
    components.push_back(
        g.iota(mlir::RankedTensorType::get(last, elementOf(indices)), d < vector ? d : d - 1)); // without the vector's
  const mlir::Value all = g.concatenate(components, static_cast<int64_t>(shape.size()));
  return g.reshape(
      all, {std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()), typeOf(all).getShape().back()});
}

// Updates as rows: one window for each place.
mlir::Value updateRows(GraphBuilder &g, mlir::Value update, int64_t places, graph::ScatterDimensionNumbersAttr n) {
  Numbers order, shape{places};
  for (int64_t d = 0; d < typeOf(update).getRank(); ++d)
    if (!llvm::is_contained(n.getUpdateWindowDims(), d))
      order.push_back(d);
  for (int64_t d : n.getUpdateWindowDims()) {
    order.push_back(d);
    shape.push_back(typeOf(update).getDimSize(d));
  }
  return g.reshape(g.transpose(update, order), shape);
}

Places rowsOf(GraphBuilder &g, const Places &at) {
  const graph::ScatterDimensionNumbersAttr n = at.numbers;
  Places out{indexRows(g, at.indices, n), {}, {}};
  for (mlir::Value u : at.updates)
    out.updates.push_back(updateRows(g, u, typeOf(out.indices).getDimSize(0), n));
  Numbers window(n.getUpdateWindowDims().size()), inserted(n.getInsertedWindowDims()), to(n.getScatterDimsToOperandDims());
  std::iota(window.begin(), window.end(), 1);
  llvm::append_range(inserted, n.getInputBatchingDims());
  llvm::sort(inserted);
  llvm::append_range(to, n.getInputBatchingDims());
  out.numbers = graph::ScatterDimensionNumbersAttr::get(n.getContext(), window, inserted, {}, {}, to, 1);
  return out;
}

// One of the rows.
Places placeOf(const Places &rows, llvm::function_ref<mlir::Value(mlir::Value)> row) {
  Places out{row(rows.indices), {}, rows.numbers};
  for (mlir::Value u : rows.updates)
    out.updates.push_back(row(u));
  return out;
}

Values oneByOne(GraphBuilder &g, Values tensors, const Places &rows, mlir::Block &body) {
  for (int64_t i = 0; i < typeOf(rows.indices).getDimSize(0); ++i)
    tensors = together(g, tensors, placeOf(rows, [&](mlir::Value x) { return g.slice(x, 0, i, i + 1); }), body);
  return tensors;
}

// The same as a loop. It carries its counter, the tensors, and the rows as they are.
Values inLoop(GraphBuilder &g, const Values &tensors, const Places &rows, mlir::Block &body) {
  const auto counter = mlir::RankedTensorType::get({}, g.b.getI32Type());
  Values carried{g.number(0, counter)};
  llvm::append_range(carried, tensors);
  carried.push_back(rows.indices);
  llvm::append_range(carried, rows.updates);
  mlir::OperationState state(g.loc, "stablehlo.while", carried, mlir::ValueRange(carried).getTypes());
  mlir::Region *condition = state.addRegion(), *step = state.addRegion();
  const llvm::SmallVector<mlir::Location> places(carried.size(), g.loc);
  {
    const mlir::OpBuilder::InsertionGuard guard(g.b);
    const mlir::Value i = g.b.createBlock(condition, {}, mlir::ValueRange(carried).getTypes(), places)->getArgument(0);
    const auto count = static_cast<double>(typeOf(rows.indices).getDimSize(0));
    endWith(g, g.compare(graph::ComparisonDirection::LT, i, g.number(count, counter)));
    mlir::Block *now = g.b.createBlock(step, {}, mlir::ValueRange(carried).getTypes(), places);
    const Values values(now->getArguments());
    const mlir::ValueRange all(values);
    const size_t n = tensors.size();
    const Places inside{all[1 + n], Values(all.drop_front(2 + n)), rows.numbers};
    const auto row = [&](mlir::Value x) {
      Numbers sizes(typeOf(x).getShape());
      sizes[0] = 1;
      Values at{x, all[0]};
      at.append(sizes.size() - 1, g.number(0, counter));
      return g.make("dynamic_slice", at, mlir::RankedTensorType::get(sizes, elementOf(x)),
                    {g.b.getNamedAttr("slice_sizes", g.b.getDenseI64ArrayAttr(sizes))});
    };
    Values next{g.add(all[0], g.number(1, counter))};
    llvm::append_range(next, together(g, all.slice(1, n), placeOf(inside, row), body));
    llvm::append_range(next, all.drop_front(1 + n));
    endWith(g, next);
  }
  const mlir::ValueRange results = g.b.create(state)->getResults();
  return Values(results.slice(1, tensors.size()));
}

} // namespace

bool writeByPlace(graph::ScatterOp op) {
  mlir::Block &body = op->getRegion(0).front();
  if (!isPlainBody(body))
    return false;
  GraphBuilder g(op);
  const Values tensors(op.getInputs());
  const Places at{op.getScatterIndices(), Values(op.getUpdates()), op.getScatterDimensionNumbers()};
  Values made;
  if (op.getUniqueIndices()) {
    made = together(g, tensors, at, body);
  } else {
    const Places rows = rowsOf(g, at);
    made =
        typeOf(rows.indices).getDimSize(0) <= kFewPlaces ? oneByOne(g, tensors, rows, body) : inLoop(g, tensors, rows, body);
  }
  op->replaceAllUsesWith(made);
  op->erase();
  return true;
}

} // namespace glia::emit
