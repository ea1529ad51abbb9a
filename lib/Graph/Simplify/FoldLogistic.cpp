#include "FoldLogistic.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

#include <cmath>

namespace glia::emit {

namespace {

constexpr int kMostFactors = 3; // of numbers below 18, which f16 holds

bool isOne(mlir::Value v) { return splatOf(v) == 1.0; }

// y of 1 + exp(y); nothing if that is not what the value is, or if somebody else wants the sum.
mlir::Value exponentOf(mlir::Value sum) {
  mlir::Operation *add = sum.getDefiningOp();
  if (!add || opName(add) != "add" || !sum.hasOneUse())
    return {};
  for (unsigned i : {0u, 1u})
    if (mlir::Operation *e = add->getOperand(i).getDefiningOp();
        e && opName(e) == "exponential" && isOne(add->getOperand(1 - i)))
      return e->getOperand(0);
  return {};
}

// How many factors x there are in a value that is x, numbers and bounded functions of anything, multiplied; nothing if it is something else.
std::optional<int> degreeOf(mlir::Value v, mlir::Value x, int depth = 0) {
  static constexpr llvm::StringLiteral kBounded[] = {"tanh", "logistic", "erf", "sine", "cosine"};
  constexpr int kDeepest = 8;
  if (v == x)
    return 1;
  if (const std::optional<double> n = splatOf(v))
    return std::fabs(*n) <= 1 ? std::optional<int>(0) : std::nullopt;
  mlir::Operation *op = v.getDefiningOp();
  if (!op || depth > kDeepest)
    return std::nullopt;
  if (llvm::is_contained(kBounded, opName(op)))
    return 0;
  if (opName(op) == "negate" || opName(op) == "abs")
    return degreeOf(op->getOperand(0), x, depth + 1);
  if (opName(op) != "multiply")
    return std::nullopt;
  const std::optional<int> a = degreeOf(op->getOperand(0), x, depth + 1), b = degreeOf(op->getOperand(1), x, depth + 1);
  return a && b ? std::optional<int>(*a + *b) : std::nullopt;
}

} // namespace

void foldLogistics(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main)) {
    if (opName(op) != "divide" || !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))))
      continue;
    const mlir::Value y = exponentOf(op->getOperand(1));
    if (!y)
      continue;
    GraphBuilder g(op);
    mlir::Operation *negation = y.getDefiningOp();
    const bool negative = negation && opName(negation) == "negate";
    const mlir::Value a = op->getOperand(0);
    if (degreeOf(a, negative ? negation->getOperand(0) : y).value_or(kMostFactors + 1) > kMostFactors)
      continue;
    const mlir::Value x = negative ? negation->getOperand(0) : g.unary("negate", y);
    const mlir::Value logistic = g.unary("logistic", x);
    op->getResult(0).replaceAllUsesWith(isOne(a) ? logistic : g.multiply(a, logistic));
    op->erase();
  }
}

} // namespace glia::emit
