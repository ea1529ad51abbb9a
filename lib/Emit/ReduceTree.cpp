#include "ReduceTree.h"
#include "PlainBody.h"

namespace glia::emit {

using Value = mlir::Value;
using Values = llvm::SmallVector<Value>;

Values folded(GraphBuilder &g, Values x, Combine combine) {
  const int64_t rows = typeOf(x[0]).getDimSize(0);
  for (int64_t n = typeOf(x[0]).getDimSize(1); n > 1; n = (n + 1) / 2) {
    const int64_t pairs = n / 2;
    const auto half = [&](Value v, int64_t which) {
      const Value two = g.reshape(g.slice(v, {0, 0}, {rows, 2 * pairs}), {rows, pairs, 2});
      return g.reshape(g.slice(two, {0, 0, which}, {rows, pairs, which + 1}), {rows, pairs});
    };
    Values before, after;
    for (Value v : x) {
      before.push_back(half(v, 0));
      after.push_back(half(v, 1));
    }
    Values made = combine(before, after);
    if (n % 2)
      for (auto [v, rest] : llvm::zip(made, x))
        v = g.concatenate({v, g.slice(rest, {0, n - 1}, {rows, n})}, 1);
    x = made;
  }
  return x;
}

bool writeByTree(graph::ReduceOp op) {
  mlir::Block &body = op->getRegion(0).front();
  const mlir::RankedTensorType in = typeOf(op->getOperand(0)), out = typeOf(op->getResult(0));
  if (!isPlainBody(body) || in.getNumElements() == 0)
    return false;
  GraphBuilder g(op);
  const llvm::ArrayRef<int64_t> dims = op.getDimensions();
  std::vector<int64_t> order;
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (!llvm::is_contained(dims, d))
      order.push_back(d);
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (llvm::is_contained(dims, d))
      order.push_back(d);
  const int64_t rows = out.getNumElements(), n = in.getNumElements() / rows;
  Values x, start;
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    x.push_back(g.reshape(g.transpose(op->getOperand(i), order), {rows, n}));
    const Value first = op->getOperand(op->getNumResults() + i);
    start.push_back(g.broadcast(first, {}, mlir::RankedTensorType::get({rows, 1}, elementOf(first))));
  }
  const auto combine = [&](mlir::ValueRange before, mlir::ValueRange after) {
    Values arguments(before);
    llvm::append_range(arguments, after);
    return applied(g, body, arguments);
  };
  x = combine(start, folded(g, x, combine));
  for (auto [made, old] : llvm::zip(x, op->getResults()))
    old.replaceAllUsesWith(g.reshape(made, typeOf(old).getShape()));
  op->erase();
  return true;
}

} // namespace glia::emit
