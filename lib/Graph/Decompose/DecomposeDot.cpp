#include "DecomposeDot.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/GraphFacts.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace glia::emit {

namespace {

using Value = mlir::Value;
using Numbers = std::vector<int64_t>;

// An operand, and which dimension of the result each of its dimensions is.
struct Factor {
  Value value;
  Numbers to;
};

class Product {
public:
  explicit Product(graph::DotGeneralOp op) : op(op), g(op), shape(typeOf(op->getResult(0)).getShape()) {}

  bool write() {
    const auto n = op.getDotDimensionNumbers();
    for (int64_t d : n.getLhsContractingDimensions())
      if (typeOf(op->getOperand(0)).getDimSize(d) != 1)
        return false;
    const auto all = [&](auto is) {
      return is(elementOf(op->getOperand(0))) && is(elementOf(op->getOperand(1))) && is(elementOf(op->getResult(0)));
    };
    if (!all([](mlir::Type t) { return llvm::isa<mlir::FloatType>(t); }) &&
        !all([](mlir::Type t) { return llvm::isa<mlir::IntegerType>(t); }))
      return false;
    int64_t next = static_cast<int64_t>(n.getLhsBatchingDimensions().size());
    Factor a = factor(op->getOperand(0), n.getLhsBatchingDimensions(), n.getLhsContractingDimensions(), next);
    Factor b = factor(op->getOperand(1), n.getRhsBatchingDimensions(), n.getRhsContractingDimensions(), next);
    const mlir::Type result = elementOf(op->getResult(0)), type = between(elementOf(a.value), elementOf(b.value), result);
    const Numbers order = bestOrder(a, b);
    Value x = spread(a, order, type), y = spread(b, order, type);
    Value made = g.convert(type.isInteger(1) ? g.binary("and", x, y) : g.multiply(x, y), result);
    if (!llvm::is_sorted(order))
      made = g.transpose(made, inverse(order));
    op->getResult(0).replaceAllUsesWith(made);
    return true;
  }

private:
  graph::DotGeneralOp op;
  GraphBuilder g;
  Numbers shape; // of the result

  // Without what is contracted. Free dimensions follow each other in the result.
  Factor factor(Value v, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contracted, int64_t &next) {
    Numbers to(static_cast<size_t>(typeOf(v).getRank()), -1), kept, sizes;
    for (auto [i, d] : llvm::enumerate(batch))
      to[static_cast<size_t>(d)] = static_cast<int64_t>(i);
    for (int64_t d : freeDims(to.size(), batch, contracted))
      to[static_cast<size_t>(d)] = next++;
    for (size_t d = 0; d < to.size(); ++d)
      if (to[d] >= 0) {
        kept.push_back(to[d]);
        sizes.push_back(typeOf(v).getShape()[d]);
      }
    return {contracted.empty() ? v : g.reshape(v, sizes), std::move(kept)};
  }

  // One that holds both factors, and rounds their product no earlier than the result does. Integers wrap alike at any width.
  mlir::Type between(mlir::Type a, mlir::Type b, mlir::Type result) {
    if (llvm::isa<mlir::IntegerType>(result))
      return result;
    return a == result && b == result && result.getIntOrFloatBitWidth() >= 16 ? result
           : result.isF64() || a.isF64() || b.isF64()                         ? mlir::Type(g.b.getF64Type())
                                                                              : mlir::Type(g.b.getF32Type());
  }

  static Numbers inverse(const Numbers &order) {
    Numbers out(order.size());
    for (size_t i = 0; i < order.size(); ++i)
      out[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return out;
  }

  // The dimensions stand in this order, but for those of one element.
  bool inOrder(const Numbers &dims, const Numbers &order) const {
    const Numbers at = inverse(order);
    int64_t last = -1;
    for (int64_t d : dims) {
      if (shape[static_cast<size_t>(d)] == 1)
        continue;
      if (at[static_cast<size_t>(d)] < last)
        return false;
      last = at[static_cast<size_t>(d)];
    }
    return true;
  }

  // The order of dimensions in which the fewest elements have to be put in order, before or behind.
  Numbers bestOrder(const Factor &a, const Factor &b) const {
    Numbers natural(shape.size()), wanted;
    std::iota(natural.begin(), natural.end(), 0);
    wanted = natural;
    if (op->getResult(0).hasOneUse())
      if (auto t = llvm::dyn_cast<graph::TransposeOp>(*op->getResult(0).user_begin()))
        wanted.assign(t.getPermutation().begin(), t.getPermutation().end());
    const auto completed =
        [&](const Factor &f) { // what it lacks stands where the result wants it: in front of what follows there
          Numbers order = f.to;
          for (size_t i = wanted.size(); i-- > 0;)
            if (!llvm::is_contained(order, wanted[i]))
              order.insert(i + 1 < wanted.size() ? llvm::find(order, wanted[i + 1]) : order.end(), wanted[i]);
          return order;
        };
    int64_t least = std::numeric_limits<int64_t>::max();
    Numbers best;
    for (const Numbers &order : {wanted, natural, completed(a), completed(b)}) {
      int64_t moved = inOrder(wanted, order) ? 0 : elementsOf(op->getResult(0));
      for (const Factor *f : {&a, &b})
        moved += inOrder(f->to, order) ? 0 : elementsOf(f->value);
      if (moved < least) {
        least = moved;
        best = order;
      }
    }
    return best;
  }

  // The factor in the shape of the result, its dimensions in this order.
  Value spread(const Factor &f, const Numbers &order, mlir::Type type) {
    const Numbers at = inverse(order);
    Numbers mine(f.to.size()), dims, sizes;
    std::iota(mine.begin(), mine.end(), 0);
    llvm::sort(mine, [&](int64_t i, int64_t j) {
      return at[static_cast<size_t>(f.to[static_cast<size_t>(i)])] < at[static_cast<size_t>(f.to[static_cast<size_t>(j)])];
    });
    Value v = g.convert(f.value, type);
    if (!llvm::is_sorted(mine))
      v = g.transpose(v, mine);
    for (int64_t i : mine)
      dims.push_back(at[static_cast<size_t>(f.to[static_cast<size_t>(i)])]);
    for (int64_t d : order)
      sizes.push_back(shape[static_cast<size_t>(d)]);
    return g.broadcast(v, dims, mlir::RankedTensorType::get(sizes, type));
  }
};

} // namespace

void decomposeDots(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      if (Product(dot).write())
        dot->erase();
}

} // namespace glia::emit
