#include "DecomposeRandom.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

#include <array>

namespace glia::emit {

namespace {

using Value = mlir::Value;
using Pair = std::array<Value, 2>;

Value rotate(GraphBuilder &g, Value x, int by) {
  return g.binary("or", g.binary("shift_left", x, g.number(by, x)),
                  g.binary("shift_right_logical", x, g.number(32 - by, x)));
}

// Threefry-2x32 with 20 rounds.
Pair threefry(GraphBuilder &g, Pair key, Pair x) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const Value keys[3] = {key[0], key[1], g.binary("xor", g.binary("xor", key[0], key[1]), g.number(0x1BD11BDA, key[0]))};
  const auto everywhere = [&](Value k) { return g.broadcast(k, {}, typeOf(x[0])); };
  x = {g.add(x[0], everywhere(keys[0])), g.add(x[1], everywhere(keys[1]))};
  for (unsigned group = 0; group < 5; ++group) {
    for (const int r : kRotations[group % 2]) {
      x[0] = g.add(x[0], x[1]);
      x[1] = g.binary("xor", rotate(g, x[1], r), x[0]);
    }
    x[0] = g.add(x[0], everywhere(keys[(group + 1) % 3]));
    x[1] = g.add(x[1], everywhere(g.add(keys[(group + 2) % 3], g.number(group + 1, keys[0]))));
  }
  return x;
}

Pair halves(GraphBuilder &g, Value x) {
  const mlir::Type word = g.b.getIntegerType(32, false);
  return {g.convert(x, word), g.convert(g.binary("shift_right_logical", x, g.number(32, x)), word)};
}

// Narrow results come two per counter, side by side along the first dimension of even size, or the largest if there is none.
int64_t splitDimension(llvm::ArrayRef<int64_t> shape) {
  size_t largest = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] % 2 == 0)
      return static_cast<int64_t>(d);
    if (shape[d] > shape[largest])
      largest = d;
  }
  return static_cast<int64_t>(largest);
}

void decompose(mlir::Operation *op) {
  GraphBuilder g(op);
  const Value state = op->getOperand(0);
  Value next = op->getResult(0), result = op->getResult(1);
  const auto wide = llvm::cast<mlir::IntegerType>(elementOf(state));
  const auto scalar = mlir::RankedTensorType::get({}, wide);
  const Value kept = g.slice(state, 0, 0, 1), start = g.reshape(g.slice(state, 0, 1, 2), {});
  const bool whole = llvm::cast<mlir::IntegerType>(elementOf(result)).getWidth() == 64;
  const std::vector<int64_t> shape(typeOf(result).getShape());
  std::vector<int64_t> counted(shape.empty() ? std::vector<int64_t>{1} : shape);
  const int64_t dim = splitDimension(counted);
  const int64_t all = counted[static_cast<size_t>(dim)];
  if (!whole)
    counted[static_cast<size_t>(dim)] = (all + 1) / 2;
  const int64_t counters = mlir::RankedTensorType::get(counted, wide).getNumElements();
  next.replaceAllUsesWith(
      g.concatenate({kept, g.reshape(g.add(start, g.number(static_cast<double>(counters), scalar)), {1})}, 0));
  if (counters == 0)
    return result.replaceAllUsesWith(g.number(0, result));
  const auto row = mlir::RankedTensorType::get({counters}, wide);
  const Value numbers = g.reshape(g.add(g.iota(row, 0), g.broadcast(start, {}, row)), counted);
  const Pair made = threefry(g, halves(g, g.reshape(kept, {})), halves(g, numbers));
  if (whole) {
    const Value high = g.convert(made[1], wide);
    const Value both = g.binary("or", g.binary("shift_left", high, g.number(32, high)), g.convert(made[0], wide));
    return result.replaceAllUsesWith(g.bitcast(g.reshape(both, shape), elementOf(result)));
  }
  std::vector<int64_t> apart(counted), together(counted);
  apart.insert(apart.begin() + dim + 1, 1);
  together[static_cast<size_t>(dim)] *= 2;
  Value side = g.reshape(g.concatenate({g.reshape(made[0], apart), g.reshape(made[1], apart)}, dim + 1), together);
  if (all % 2 != 0)
    side = g.slice(side, dim, 0, all);
  result.replaceAllUsesWith(g.bitcast(g.reshape(side, shape), elementOf(result)));
}

bool isKnown(mlir::Operation *op) {
  auto generator = llvm::dyn_cast<graph::RngBitGeneratorOp>(op);
  if (!generator || generator.getRngAlgorithm() == graph::RngAlgorithm::PHILOX)
    return false;
  const auto state = llvm::dyn_cast<mlir::IntegerType>(elementOf(op->getOperand(0)));
  const auto result = llvm::dyn_cast<mlir::IntegerType>(elementOf(op->getResult(1)));
  return state && state.getWidth() == 64 && typeOf(op->getOperand(0)).getShape() == llvm::ArrayRef<int64_t>{2} && result &&
         (result.getWidth() == 32 || result.getWidth() == 64);
}

} // namespace

void decomposeRandom(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (isKnown(op)) {
      decompose(op);
      op->erase();
    }
}

} // namespace glia::emit
