#include "DecomposeLinalg.h"
#include "EigenMatrix.h"
#include "Graph/Analysis/GraphFacts.h"
#include "HouseholderMatrix.h"
#include "TriangularMatrix.h"

#include <cmath>
#include <limits>

namespace glia::emit {

namespace {

using Value = mlir::Value;
using graph::ComparisonDirection;

// The type that an operation computes in: at least f32.
mlir::Type computedIn(GraphBuilder &g, mlir::Type element) {
  auto f = llvm::dyn_cast<mlir::FloatType>(element);
  return f && f.getWidth() < 32 ? g.b.getF32Type() : element;
}

void replace(GraphBuilder &g, MatrixBuilder &m, mlir::Operation *op, Value made) {
  Value result = op->getResult(0);
  result.replaceAllUsesWith(g.convert(m.shaped(made, result), elementOf(result)));
  op->erase();
}

void decompose(graph::TriangularSolveOp op) {
  GraphBuilder g(op);
  MatrixBuilder m(g);
  const auto operand = [&](Value v) { return m.flat(g.convert(v, computedIn(g, elementOf(v)))); };
  Value a = operand(op.getA()), b = operand(op.getB());
  bool lower = op.getLower();
  const graph::Transpose how = op.getTransposeA();
  const bool turned = how == graph::Transpose::TRANSPOSE || how == graph::Transpose::ADJOINT;
  if (how == graph::Transpose::ADJOINT)
    a = m.conjugate(a);
  if (turned != !op.getLeftSide()) { // x a = b is a' x' = b'
    a = m.transpose(a);
    lower = !lower;
  }
  if (!op.getLeftSide())
    b = m.transpose(b);
  const Value x = solveTriangular(m, a, b, lower, op.getUnitDiagonal());
  replace(g, m, op, op.getLeftSide() ? x : m.transpose(x));
}

// An upper factor, and of each matrix whether it has one.
struct Factor {
  Value upper, exists;
};

// The factor of a block, whose upper triangle is read: columns are eliminated one after the other. Rows keep what they were when their
// turn came; each is then divided by the root of its pivot.
Factor factorBlock(MatrixBuilder &m, Value a) {
  GraphBuilder &g = m.g;
  const int64_t n = MatrixBuilder::rows(a);
  if (n > 1) {
    const auto places = mlir::RankedTensorType::get({MatrixBuilder::batch(a), n}, g.b.getI32Type());
    const auto eliminate = [&](Value at, const std::vector<Value> &carried) -> std::vector<Value> {
      const Value row = m.at(carried[0], 1, at), pivot = m.at(row, 2, at);
      const Value flat = g.reshape(row, places.getShape());
      const Value everywhere = g.broadcast(g.reshape(pivot, {places.getDimSize(0)}), {0}, typeOf(flat));
      const Value factor = g.divide(m.conjugate(flat), everywhere);
      const Value under = g.compare(ComparisonDirection::GT, g.iota(places, 1), g.broadcast(at, {}, places));
      const Value less = g.subtract(carried[0], g.multiply(m.perRow(factor, carried[0]), m.perColumn(flat, carried[0])));
      return {g.select(m.perRow(under, carried[0]), less, carried[0])};
    };
    a = m.loop(n - 1, {a}, eliminate)[0];
  }
  const Value pivots = m.real(m.diagonal(a)), roots = m.asComplex(g.unary("sqrt", pivots), a);
  const Value wrong = g.compare(ComparisonDirection::LE, pivots, g.number(0, pivots)); // NaN is not: it stays what it is
  const Value exists =
      g.reduce("and", g.unary("not", wrong), g.number(1, mlir::RankedTensorType::get({}, g.b.getI1Type())), {1});
  return {m.triangle(g.divide(a, m.perRow(roots, a)), false), exists};
}

// u with u' u = a.
Factor factor(MatrixBuilder &m, Value a) {
  GraphBuilder &g = m.g;
  const int64_t n = MatrixBuilder::rows(a);
  if (n <= kMatrixBlock)
    return factorBlock(m, a);
  const int64_t first = (n / 2 + kMatrixBlock - 1) / kMatrixBlock * kMatrixBlock, second = n - first;
  const Factor top = factor(m, m.block(a, 0, 0, first, first));
  const Value beside = solveTriangular(m, m.adjoint(top.upper), m.block(a, 0, first, first, second), true, false);
  const Value less = g.subtract(m.block(a, first, first, second, second), m.product(m.adjoint(beside), beside));
  const Factor rest = factor(m, less);
  const Value under = m.zeros(m.block(a, first, 0, second, first));
  return {m.above({m.beside({top.upper, beside}), m.beside({under, rest.upper})}), g.binary("and", top.exists, rest.exists)};
}

void decompose(graph::CholeskyOp op) {
  GraphBuilder g(op);
  MatrixBuilder m(g);
  Value a = m.flat(g.convert(op.getA(), computedIn(g, elementOf(op.getA()))));
  if (op.getLower())
    a = m.adjoint(a);
  const Factor f = factor(m, a);
  const Value nan = m.filled(std::numeric_limits<double>::quiet_NaN(), typeOf(a));
  const Value exists = g.broadcast(f.exists, {0}, withElement(a, g.b.getI1Type()));
  replace(g, m, op, g.select(exists, op.getLower() ? m.adjoint(f.upper) : f.upper, nan));
}

// XLA's custom calls, as JAX writes them.
void decomposeQr(mlir::Operation *op) {
  GraphBuilder g(op);
  MatrixBuilder m(g);
  const Value a = op->getOperand(0);
  const Reflections r = reflections(m, m.flat(g.convert(a, computedIn(g, elementOf(a)))));
  op->getResult(1).replaceAllUsesWith(g.convert(m.shaped(r.taus, op->getResult(1)), elementOf(a)));
  replace(g, m, op, r.matrix);
}

void decomposeHouseholderProduct(mlir::Operation *op) {
  GraphBuilder g(op);
  MatrixBuilder m(g);
  const auto operand = [&](unsigned i) { return g.convert(op->getOperand(i), computedIn(g, elementOf(op->getOperand(i)))); };
  const Value a = m.flat(operand(0));
  const int64_t count = typeOf(op->getOperand(1)).getShape().back();
  replace(g, m, op, productOf(m, {a, g.reshape(operand(1), {MatrixBuilder::batch(a), count})}));
}

// backend_config: "lower,sorted,sweeps,tolerance", the first two 0 or 1.
void decomposeEigh(mlir::Operation *op) {
  GraphBuilder g(op);
  MatrixBuilder m(g);
  const Value a = op->getOperand(0);
  const auto config = op->getAttrOfType<mlir::StringAttr>("backend_config");
  const Eigen e =
      eigen(m, m.flat(g.convert(a, computedIn(g, elementOf(a)))), !config || !config.getValue().starts_with("0"));
  Value values = op->getResult(1);
  values.replaceAllUsesWith(g.convert(m.shaped(e.values, values), elementOf(values)));
  replace(g, m, op, e.vectors);
}

} // namespace

void decomposeLinalg(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (op->getNumOperands() > 0 && isEmpty(op->getOperands().front()))
      continue; // RemoveEmpty's
    if (auto solve = llvm::dyn_cast<graph::TriangularSolveOp>(op); solve && !isEmpty(solve.getB()))
      decompose(solve);
    else if (auto cholesky = llvm::dyn_cast<graph::CholeskyOp>(op))
      decompose(cholesky);
    else if (auto call = llvm::dyn_cast<graph::CustomCallOp>(op)) {
      if (call.getCallTargetName() == "Qr" && op->getNumOperands() == 1 && op->getNumResults() == 2)
        decomposeQr(op);
      else if (call.getCallTargetName() == "Eigh" && op->getNumOperands() == 1 && op->getNumResults() == 2)
        decomposeEigh(op);
      else if (call.getCallTargetName() == "ProductOfElementaryHouseholderReflectors" && op->getNumOperands() == 2)
        decomposeHouseholderProduct(op);
    }
  }
}

} // namespace glia::emit
