#include "ReduceTree.h"
#include "Graph/Analysis/BodyLaws.h"
#include "Graph/Analysis/PlainBody.h"

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

// The same, after `so`.
static Values inOrder(GraphBuilder &g, Values so, mlir::ValueRange x, Combine combine) {
  for (int64_t i = 0; i < typeOf(x[0]).getDimSize(1); ++i) {
    Values next;
    for (Value v : x)
      next.push_back(g.slice(v, 1, i, i + 1));
    so = combine(so, next);
  }
  return so;
}

Values reducedByTree(GraphBuilder &g, mlir::ValueRange x, mlir::ValueRange start, llvm::ArrayRef<int64_t> dims,
                     Combine combine, bool ordered) {
  const mlir::RankedTensorType in = typeOf(x[0]);
  std::vector<int64_t> order, rest;
  int64_t rows = 1, n = 1;
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (!llvm::is_contained(dims, d)) {
      order.push_back(d);
      rest.push_back(in.getDimSize(static_cast<unsigned>(d)));
      rows *= rest.back();
    }
  for (int64_t d = 0; d < in.getRank(); ++d)
    if (llvm::is_contained(dims, d)) {
      order.push_back(d);
      n *= in.getDimSize(static_cast<unsigned>(d));
    }
  Values in2d, out;
  for (auto [v, first] : llvm::zip(x, start)) {
    in2d.push_back(g.reshape(g.transpose(v, order), {rows, n}));
    out.push_back(g.broadcast(first, {}, mlir::RankedTensorType::get({rows, 1}, elementOf(first))));
  }
  if (n > 0)
    out = ordered ? inOrder(g, out, in2d, combine) : combine(out, folded(g, in2d, combine));
  for (Value &v : out)
    v = g.reshape(v, rest);
  return out;
}

bool writeByTree(graph::ReduceOp op) {
  mlir::Block &body = op->getRegion(0).front();
  if (!isPlainBody(body) || typeOf(op->getOperand(0)).getNumElements() == 0)
    return false;
  int64_t elements = 1;
  for (int64_t d : op.getDimensions())
    elements *= typeOf(op->getOperand(0)).getDimSize(static_cast<unsigned>(d));
  const bool ordered = isAssociative(body) == false;
  if (ordered && elements > kMostInOrder)
    return false;
  GraphBuilder g(op);
  const unsigned count = op->getNumResults();
  const auto combine = [&](mlir::ValueRange before, mlir::ValueRange after) {
    Values arguments(before);
    llvm::append_range(arguments, after);
    return applied(g, body, arguments);
  };
  op->replaceAllUsesWith(reducedByTree(g, op->getOperands().take_front(count), op->getOperands().drop_front(count),
                                       op.getDimensions(), combine, ordered));
  op->erase();
  return true;
}

} // namespace glia::emit
