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
  explicit Product(graph::DotGeneralOp op) : op(op), g(op), shape(typeOf(op->getResult(0)).getShape()), rank(shape.size()) {}

  bool write() {
    const auto n = op.getDotDimensionNumbers();
    const auto all = [&](auto is) {
      return is(elementOf(op->getOperand(0))) && is(elementOf(op->getOperand(1))) && is(elementOf(op->getResult(0)));
    };
    const bool floats = all([](mlir::Type t) { return llvm::isa<mlir::FloatType>(t) && !t.isF64(); });
    if (!floats && !all([](mlir::Type t) { return llvm::isa<mlir::IntegerType>(t); }))
      return false;
    for (int64_t d : n.getLhsContractingDimensions())
      if (const int64_t size = typeOf(op->getOperand(0)).getDimSize(d); size != 1)
        shape.push_back(size);
    const bool sums = shape.size() > rank;
    if (sums && !(floats && isTiny()))
      return false;
    int64_t next = static_cast<int64_t>(n.getLhsBatchingDimensions().size());
    const Factor a = factor(op->getOperand(0), n.getLhsBatchingDimensions(), n.getLhsContractingDimensions(), next);
    const Factor b = factor(op->getOperand(1), n.getRhsBatchingDimensions(), n.getRhsContractingDimensions(), next);
    const mlir::Type result = elementOf(op->getResult(0));
    const mlir::Type type = sums ? mlir::Type(g.b.getF32Type()) : between(elementOf(a.value), elementOf(b.value), result);
    Numbers order = bestOrder(a, b);
    const Value x = spread(a, order, type), y = spread(b, order, type);
    Value made = type.isInteger(1) ? g.binary("and", x, y) : g.multiply(x, y);
    if (sums) {
      made = g.reduce("add", made, g.number(0, mlir::RankedTensorType::get({}, type)), numbers(rank, shape.size()));
      order.resize(rank);
    }
    made = g.convert(made, result);
    if (!llvm::is_sorted(order))
      made = g.transpose(made, inverse(order));
    op->getResult(0).replaceAllUsesWith(made);
    return true;
  }

private:
  graph::DotGeneralOp op;
  GraphBuilder g;
  Numbers shape; // of the result, then what is added up
  size_t rank;   // of the result

  static Numbers numbers(size_t from, size_t to) {
    Numbers out(to - from);
    std::iota(out.begin(), out.end(), static_cast<int64_t>(from));
    return out;
  }

  // Many small products, each of which would be an instruction of the Tensor engine or more: an instruction of the Vector engine has
  // 128 rows of them.
  bool isTiny() {
    constexpr double kProduct = 110, kMultiply = 0.045, kRepeat = 1.7, kBegin = 3000; // nanoseconds
    int64_t batches = 1, depth = 1;
    for (int64_t d : op.getDotDimensionNumbers().getLhsBatchingDimensions())
      batches *= typeOf(op->getOperand(0)).getDimSize(d);
    for (size_t d = rank; d < shape.size(); ++d)
      depth *= shape[d];
    if (batches == 0 || depth == 0)
      return false;
    const int64_t left = elementsOf(op->getOperand(0)) / batches / depth,
                  right = elementsOf(op->getOperand(1)) / batches / depth;
    const double blocks =
                     static_cast<double>(batches * ((depth + 127) / 128) * ((left + 127) / 128) * ((right + 511) / 512)),
                 all = static_cast<double>(batches * depth * left * right) * (std::min(left, right) > 1 ? kRepeat : 1);
    return all * kMultiply + kBegin < 0.6 * blocks * kProduct;
  }

  // Without what is contracted and has one element. Free dimensions follow each other in the result.
  Factor factor(Value v, llvm::ArrayRef<int64_t> batch, llvm::ArrayRef<int64_t> contracted, int64_t &next) {
    Numbers to(static_cast<size_t>(typeOf(v).getRank()), -1), kept, sizes;
    for (auto [i, d] : llvm::enumerate(batch))
      to[static_cast<size_t>(d)] = static_cast<int64_t>(i);
    for (int64_t d : freeDims(to.size(), batch, contracted))
      to[static_cast<size_t>(d)] = next++;
    int64_t added = static_cast<int64_t>(rank);
    for (int64_t d : contracted)
      if (typeOf(v).getDimSize(d) != 1)
        to[static_cast<size_t>(d)] = added++;
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
    return a == result && b == result && result.getIntOrFloatBitWidth() >= 16 ? result : mlir::Type(g.b.getF32Type());
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
    const Numbers natural = numbers(0, rank);
    Numbers wanted = natural;
    if (op->getResult(0).hasOneUse())
      if (auto t = llvm::dyn_cast<graph::TransposeOp>(*op->getResult(0).user_begin()))
        wanted.assign(t.getPermutation().begin(), t.getPermutation().end());
    // What a factor lacks stands where the result wants it: in front of what follows there.
    const auto completed = [&](const Factor &f) {
      Numbers order;
      llvm::copy_if(f.to, std::back_inserter(order), [&](int64_t d) { return d < static_cast<int64_t>(rank); });
      for (size_t i = rank; i-- > 0;)
        if (!llvm::is_contained(order, wanted[i]))
          order.insert(i + 1 < rank ? llvm::find(order, wanted[i + 1]) : order.end(), wanted[i]);
      return order;
    };
    int64_t least = std::numeric_limits<int64_t>::max();
    Numbers best;
    for (Numbers order : {wanted, natural, completed(a), completed(b)}) {
      for (size_t d = rank; d < shape.size(); ++d) // what is added up comes last
        order.push_back(static_cast<int64_t>(d));
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
    Numbers mine = numbers(0, f.to.size()), dims, sizes;
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
