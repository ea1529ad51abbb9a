#include "ReducePairs.h"
#include "PlainBody.h"

#include <functional>

namespace glia::emit {

namespace {

using Values = llvm::SmallVector<mlir::Value>;

// Every second element along a dimension, from the first or the second one, `count` of them.
mlir::Value everySecond(GraphBuilder &g, mlir::Value x, int64_t dim, int64_t first, int64_t count) {
  const llvm::ArrayRef<int64_t> shape = typeOf(x).getShape();
  std::vector<int64_t> from(shape.size(), 0), to(shape.begin(), shape.end()), strides(shape.size(), 1), made = to;
  const auto d = static_cast<size_t>(dim);
  from[d] = first;
  to[d] = first + 2 * count - 1;
  strides[d] = 2;
  made[d] = count;
  return g.make("slice", {x}, mlir::RankedTensorType::get(made, elementOf(x)),
                {g.b.getNamedAttr("start_indices", g.b.getDenseI64ArrayAttr(from)),
                 g.b.getNamedAttr("limit_indices", g.b.getDenseI64ArrayAttr(to)),
                 g.b.getNamedAttr("strides", g.b.getDenseI64ArrayAttr(strides))});
}

// The last one along a dimension behind the others.
mlir::Value withLast(GraphBuilder &g, mlir::Value others, mlir::Value all, int64_t dim) {
  std::vector<int64_t> from(typeOf(all).getShape().size(), 0), shape = typeOf(others).getShape().vec();
  from[static_cast<size_t>(dim)] = typeOf(all).getDimSize(static_cast<unsigned>(dim)) - 1;
  const mlir::Value last = g.slice(all, from, typeOf(all).getShape());
  ++shape[static_cast<size_t>(dim)];
  return g.make("concatenate", {others, last}, mlir::RankedTensorType::get(shape, elementOf(all)),
                {g.b.getNamedAttr("dimension", g.b.getI64IntegerAttr(dim))});
}

Values combined(GraphBuilder &g, mlir::Block &body, llvm::ArrayRef<mlir::Value> left, llvm::ArrayRef<mlir::Value> right) {
  Values both(left.begin(), left.end());
  both.append(right.begin(), right.end());
  return applied(g, body, both);
}

} // namespace

bool reduceByPairs(mlir::Operation *op) {
  mlir::Block &body = op->getRegion(0).front();
  if (!isPlainBody(body))
    return false;
  GraphBuilder g(op);
  const unsigned n = op->getNumResults();
  Values data, starts;
  for (unsigned i = 0; i < n; ++i) { // elements may be of a narrower type than what is made of them
    data.push_back(g.convert(op->getOperand(i), elementOf(op->getResult(i))));
    starts.push_back(g.broadcast(op->getOperand(n + i), {}, typeOf(op->getResult(i))));
  }
  llvm::SmallVector<int64_t> dims(llvm::cast<graph::ReduceOp>(op).getDimensions());
  llvm::sort(dims, std::greater<>());
  for (const int64_t dim : dims)
    while (typeOf(data[0]).getDimSize(static_cast<unsigned>(dim)) > 1) {
      const int64_t all = typeOf(data[0]).getDimSize(static_cast<unsigned>(dim)), pairs = all / 2;
      Values left, right;
      for (const mlir::Value x : data) {
        left.push_back(everySecond(g, x, dim, 0, pairs));
        right.push_back(everySecond(g, x, dim, 1, pairs));
      }
      Values made = combined(g, body, left, right);
      if (all % 2)
        for (unsigned i = 0; i < n; ++i)
          made[i] = withLast(g, made[i], data[i], dim);
      data = std::move(made);
    }
  for (unsigned i = 0; i < n; ++i)
    data[i] = g.reshape(data[i], typeOf(op->getResult(i)).getShape());
  for (auto [result, value] : llvm::zip(op->getResults(), combined(g, body, starts, data)))
    result.replaceAllUsesWith(value);
  return true;
}

} // namespace glia::emit
