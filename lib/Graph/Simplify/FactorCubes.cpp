#include "FactorCubes.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

#include <cmath>

namespace glia::emit {

namespace {

using Value = mlir::Value;

// The product that a value is, if only one operation reads it.
mlir::Operation *productOf(Value v) {
  mlir::Operation *op = v.getDefiningOp();
  return op && opName(op) == "multiply" && v.hasOneUse() ? op : nullptr;
}

// x * x, of (x * x) * x.
Value squareIn(mlir::Operation *cube, Value x) {
  for (unsigned i : {0u, 1u}) {
    mlir::Operation *square = cube->getOperand(i).getDefiningOp();
    if (cube->getOperand(1 - i) == x && square && opName(square) == "multiply" && square->getOperand(0) == x &&
        square->getOperand(1) == x)
      return square->getResult(0);
  }
  return {};
}

// The new value of x + c x^3; nothing if that is not what it is.
Value factored(mlir::Operation *add, Value x, Value term) {
  mlir::Operation *scaled = productOf(term);
  if (!scaled)
    return {};
  for (unsigned i : {0u, 1u}) {
    const std::optional<double> c = splatOf(scaled->getOperand(i));
    mlir::Operation *cube = productOf(scaled->getOperand(1 - i));
    if (!c || !(*c > 0) || !std::isfinite(*c) || !cube)
      continue;
    if (const Value square = squareIn(cube, x)) {
      GraphBuilder g(add);
      return g.multiply(x, g.add(g.number(1, x), g.multiply(scaled->getOperand(i), square)));
    }
  }
  return {};
}

} // namespace

void factorCubes(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) != "add" || !elementOf(op->getResult(0)).isF32())
      continue;
    Value made = factored(op, op->getOperand(0), op->getOperand(1));
    if (!made)
      made = factored(op, op->getOperand(1), op->getOperand(0));
    if (!made)
      continue;
    op->getResult(0).replaceAllUsesWith(made);
    op->erase();
  }
}

} // namespace glia::emit
