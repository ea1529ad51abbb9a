#include "DecomposeIntegerDot.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "glia/Lower/Family.h"

namespace glia::emit {

namespace {

using Value = mlir::Value;

// A number is the sum of its bytes times 2^(8 i); all are natural but the last of a signed type.
std::vector<Value> bytesOf(GraphBuilder &g, Value x, mlir::IntegerType t) {
  const int n = static_cast<int>(t.getWidth()) / 8;
  const mlir::Type bf16 = g.b.getBF16Type();
  if (n == 1)
    return {g.convert(x, bf16)};
  std::vector<Value> out;
  for (int i = 0; i < n; ++i) {
    const bool last = i + 1 == n;
    const Value moved =
        i == 0 ? x
               : g.binary(last && !t.isUnsigned() ? "shift_right_arithmetic" : "shift_right_logical", x, g.number(8 * i, x));
    out.push_back(g.convert(last ? moved : g.binary("and", moved, g.number(255, x)), bf16));
  }
  return out;
}

bool decompose(graph::DotGeneralOp dot) {
  mlir::Operation *op = dot.getOperation();
  const Value a = op->getOperand(0), b = op->getOperand(1), result = op->getResult(0);
  const auto ta = llvm::dyn_cast<mlir::IntegerType>(elementOf(a)), tb = llvm::dyn_cast<mlir::IntegerType>(elementOf(b)),
             tr = llvm::dyn_cast<mlir::IntegerType>(elementOf(result));
  const auto narrow = [](mlir::IntegerType t) {
    return t && (t.getWidth() == 1 || (t.getWidth() % 8 == 0 && t.getWidth() <= 32));
  };
  const bool logical = ta && tb && tr && ta.getWidth() == 1 && tb.getWidth() == 1 && tr.getWidth() == 1;
  if (!narrow(ta) || !narrow(tb) || !narrow(tr) ||
      (!logical && (ta.getWidth() == 1 || tb.getWidth() == 1 || tr.getWidth() == 1)))
    return false;
  GraphBuilder g(op);
  const auto axes = dot.getDotDimensionNumbers();
  const mlir::NamedAttribute how = g.b.getNamedAttr("dot_dimension_numbers", axes);
  const auto product = [&](Value x, Value y) {
    return g.make("dot_general", {x, y}, withElement(result, g.b.getF32Type()), {how});
  };
  Value made;
  if (logical) { // is there a pair?
    const Value sum = product(g.convert(a, g.b.getBF16Type()), g.convert(b, g.b.getBF16Type()));
    made = g.compare(graph::ComparisonDirection::NE, sum, g.number(0, sum));
  } else {
    // The longest contracted dimension goes in pieces, so that fp32 holds the sums: 2^24.
    const auto left = axes.getLhsContractingDimensions(), right = axes.getRhsContractingDimensions();
    int64_t terms = 1;
    size_t longest = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      terms *= typeOf(a).getDimSize(left[i]);
      if (typeOf(a).getDimSize(left[i]) > typeOf(a).getDimSize(left[longest]))
        longest = i;
    }
    const bool small = ta.getWidth() == 8 && tb.getWidth() == 8 && !ta.isUnsigned() && !tb.isUnsigned();
    const int64_t most = small ? 1024 : 256, n = left.empty() ? 1 : typeOf(a).getDimSize(left[longest]);
    const int64_t others = terms / std::max<int64_t>(n, 1), piece = most / std::max<int64_t>(others, 1);
    if (piece == 0 || (n + piece - 1) / piece > 256 || terms == 0)
      return false;
    const mlir::Type whole = tr.isUnsigned() ? g.b.getIntegerType(32, false) : g.b.getI32Type();
    const std::vector<Value> as = bytesOf(g, a, ta), bs = bytesOf(g, b, tb);
    for (int64_t at = 0; at < n; at += piece)
      for (size_t i = 0; i < as.size(); ++i)
        for (size_t j = 0; j < bs.size() && 8 * (i + j) < tr.getWidth(); ++j) {
          const int64_t to = std::min(at + piece, n);
          Value x = as[i], y = bs[j];
          if (!left.empty()) {
            x = g.slice(x, left[longest], at, to);
            y = g.slice(y, right[longest], at, to);
          }
          Value sum = g.convert(product(x, y), g.b.getI32Type());
          sum = g.convert(sum, whole); // wraps
          if (i + j > 0)
            sum = g.binary("shift_left", sum, g.number(static_cast<double>(8 * (i + j)), sum));
          made = made ? g.add(made, sum) : sum;
        }
    made = g.convert(made, tr);
  }
  op->getResult(0).replaceAllUsesWith(made);
  op->erase();
  return true;
}

} // namespace

void decomposeIntegerDots(mlir::func::FuncOp main) {
  for (mlir::Operation *op : programOps(main))
    if (auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op))
      decompose(dot);
}

} // namespace glia::emit
