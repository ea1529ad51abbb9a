#include "FoldTables.h"
#include "Graph/Analysis/GraphBuilder.h"
#include "Graph/Analysis/GraphFacts.h"
#include "glia/Graph/FunctionCall.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/StringSet.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

namespace glia::emit {

namespace {

using Value = mlir::Value;

constexpr int kMostSets = 8; // of tables in a program

enum Set : unsigned { kExp = 1, kTanh = 2, kSigmoid = 4, kErf = 8, kSqrt = 16, kSin = 32, kArctan = 64, kReciprocal = 128 };
constexpr unsigned kAll = 255;

// Sets of tables that an operation may come to need, besides those that are folded here.
unsigned setsOf(mlir::Operation *op) {
  static const llvm::StringMap<unsigned> kSets = {
      {"exponential", kExp},
      {"log", kExp},
      {"log_plus_one", kExp | kReciprocal},
      {"exponential_minus_one", kExp | kTanh},
      {"tanh", kTanh},
      {"logistic", kSigmoid},
      {"erf", kErf},
      {"sqrt", kSqrt},
      {"sine", kSin},
      {"cosine", kSin},
      {"atan", kArctan | kReciprocal},
      {"divide", kExp | kSigmoid | kReciprocal}, // of 1 + exp(-x): FoldLogistic.h
      {"remainder", kReciprocal},
      {"erfc", kExp | kErf | kReciprocal}};
  // Written out later.
  static const llvm::StringSet<> kMany = {"fft",     "cholesky", "triangular_solve",
                                          "rng",     "tan",      "atan2",
                                          "cbrt",    "acos",     "acosh",
                                          "asin",    "asinh",    "atanh",
                                          "cosh",    "sinh",     "bessel_i1e",
                                          "digamma", "erf_inv",  "lgamma",
                                          "zeta",    "polygamma"};
  if (const auto it = kSets.find(opName(op)); it != kSets.end())
    return it->second;
  if (auto call = llvm::dyn_cast<graph::CustomCallOp>(op)) {
    const llvm::StringRef target = call.getCallTargetName();
    return target.starts_with("glia.") && target != "glia.nki" ? 0 : kAll;
  }
  const bool isComplex = llvm::any_of(op->getOperandTypes(), [](mlir::Type t) {
    const auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(t);
    return tensor && llvm::isa<mlir::ComplexType>(tensor.getElementType());
  });
  return isComplex || kMany.contains(opName(op)) ? kAll : 0;
}

// The tables that a program may come to need.
class Tables {
public:
  explicit Tables(mlir::func::FuncOp main) {
    main.walk([&](mlir::Operation *op) {
      if (isFunctionCall(op))
        folded.insert(opName(op));
      else
        count(op, 1);
    });
  }
  // Whether there is room for the table of a function that stands for `replaced`; then it is taken.
  bool take(llvm::StringRef function, mlir::Operation *replaced) {
    count(replaced, -1);
    const int more = folded.contains(function) ? 0 : 1;
    const auto sets = llvm::count_if(needs, [](int n) { return n > 0; });
    if (sets + static_cast<int>(folded.size()) + more > kMostSets) {
      count(replaced, 1);
      return false;
    }
    folded.insert(function);
    return true;
  }

private:
  std::array<int, std::popcount(kAll)> needs{}; // operations that may need each set
  llvm::StringSet<> folded;

  void count(mlir::Operation *op, int by) {
    const unsigned sets = setsOf(op);
    for (size_t i = 0; i < needs.size(); ++i)
      if (sets >> i & 1)
        needs[i] += by;
  }
};

Value tableOf(GraphBuilder &g, llvm::StringRef function, Value x) {
  return g.make(
      "custom_call", {x}, x.getType(),
      {g.b.getNamedAttr("call_target_name", g.b.getStringAttr(std::string(graph::kFunctionCall) + function.str()))});
}

// `made`, of x; NaN where x is -infinity. GpSimd adds beside Vector, but finds no minimum; of 16 bits Vector does all that sooner.
Value withNanAtMinusInfinity(GraphBuilder &g, Value made, Value x) {
  if (elementOf(x).getIntOrFloatBitWidth() == 16)
    return g.binary("minimum", g.add(x, g.number(std::numeric_limits<double>::infinity(), x)), made);
  const Value zero = g.number(0, x);
  return g.add(made, g.multiply(g.binary("minimum", zero, x), zero));
}

// A product of numbers and other values.
struct Factors {
  double number = 1;
  llvm::SmallVector<Value, 4> values;
};
void factorsOf(Value v, Factors &out, int depth = 0) {
  constexpr int kDeepest = 6;
  mlir::Operation *op = v.getDefiningOp();
  if (const std::optional<double> n = splatOf(v)) {
    out.number *= *n;
  } else if (op && depth < kDeepest && opName(op) == "multiply") {
    factorsOf(op->getOperand(0), out, depth + 1);
    factorsOf(op->getOperand(1), out, depth + 1);
  } else if (op && depth < kDeepest && opName(op) == "negate") {
    out.number = -out.number;
    factorsOf(op->getOperand(0), out, depth + 1);
  } else if (op && depth < kDeepest && opName(op) == "divide" && splatOf(op->getOperand(1))) {
    out.number /= *splatOf(op->getOperand(1));
    factorsOf(op->getOperand(0), out, depth + 1);
  } else {
    out.values.push_back(v);
  }
}

double roundingOf(Value v) {
  return std::ldexp(1.0, 1 - static_cast<int>(llvm::cast<mlir::FloatType>(elementOf(v)).getFPMantissaWidth()));
}

mlir::Operation *madeBy(Value v, llvm::StringRef name) {
  mlir::Operation *op = v.getDefiningOp();
  return op && opName(op) == name ? op : nullptr;
}

// The operation of an operation of two values whose other operand is a number.
Value besideNumber(mlir::Operation *op, double number) {
  for (unsigned i : {0u, 1u})
    if (op && op->getNumOperands() == 2 && splatOf(op->getOperand(i)) == number)
      return op->getOperand(1 - i);
  return {};
}

bool isNear(double a, double b, Value inTypeOf) { return std::fabs(a / b - 1) <= roundingOf(inTypeOf); }

// x of x + 0.044715 x^3.
Value cubicOf(Value v) {
  mlir::Operation *add = madeBy(v, "add");
  for (unsigned i : {0u, 1u}) {
    if (!add)
      break;
    Factors cube;
    factorsOf(add->getOperand(1 - i), cube);
    const Value x = add->getOperand(i);
    if (cube.values.size() == 3 && llvm::all_of(cube.values, [&](Value f) { return f == x; }) &&
        isNear(cube.number, 0.044715, v))
      return x;
  }
  return {};
}

// The factor of x / 2 in a gelu, which nobody else wants.
struct Normal {
  mlir::Operation *function = nullptr;
  Value x;
  llvm::StringRef table;
};
Normal normalOf(Value v) {
  Normal out{madeBy(v, "erfc"), {}, "gelu"};
  double factor = -std::numbers::sqrt2 / 2;
  if (const Value other = out.function ? Value() : besideNumber(madeBy(v, "add"), 1)) {
    factor = -factor;
    out.function = madeBy(other, "erf");
    if (!out.function && (out.function = madeBy(other, "tanh"))) {
      out.table = "gelu_apprx_tanh";
      factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    }
  }
  if (!out.function || !v.hasOneUse() || !out.function->getResult(0).hasOneUse())
    return {};
  Factors in;
  factorsOf(out.function->getOperand(0), in);
  if (in.values.size() != 1 || !isNear(in.number, factor, v))
    return {};
  out.x = out.table == "gelu" ? in.values.front() : cubicOf(in.values.front());
  return out;
}

} // namespace

void foldGelus(mlir::func::FuncOp main) {
  Tables tables(main);
  const std::vector<mlir::Operation *> all = programOps(main);
  for (mlir::Operation *op : llvm::reverse(all)) { // whole products before their parts
    if ((opName(op) != "multiply" && opName(op) != "divide") || !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))) ||
        elementOf(op->getResult(0)).isF64())
      continue;
    Factors product;
    factorsOf(op->getResult(0), product);
    if (product.number != 0.5 || product.values.size() != 2)
      continue;
    for (unsigned i : {0u, 1u}) {
      const auto [function, x, table] = normalOf(product.values[i]);
      if (!function || x != product.values[1 - i])
        continue;
      if (!tables.take(table, function))
        continue;
      GraphBuilder g(op);
      op->getResult(0).replaceAllUsesWith(withNanAtMinusInfinity(g, tableOf(g, table, x), x));
      break;
    }
  }
}

namespace {

// x, of log_plus_one(exp(x)).
Value exponentOf(Value v) {
  mlir::Operation *log = madeBy(v, "log_plus_one");
  mlir::Operation *exp = log ? madeBy(log->getOperand(0), "exponential") : nullptr;
  return exp ? exp->getOperand(0) : Value();
}
Value withoutZero(Value v) { // x - 0 is x
  mlir::Operation *op = madeBy(v, "subtract");
  return op && splatOf(op->getOperand(1)) == 0.0 ? op->getOperand(0) : v;
}
// x of -|x|.
Value sizeOf(Value v) {
  mlir::Operation *negation = madeBy(v, "negate");
  mlir::Operation *size = negation ? madeBy(negation->getOperand(0), "abs") : nullptr;
  return size ? withoutZero(size->getOperand(0)) : Value();
}

// x, where the operation gives softplus(x).
Value softplusOf(mlir::Operation *op) {
  if (opName(op) == "log_plus_one") {
    const Value x = exponentOf(op->getResult(0));
    return x && sizeOf(x) ? x : Value();
  }
  if (opName(op) == "add") {
    for (unsigned i : {0u, 1u}) {
      mlir::Operation *soft = madeBy(op->getOperand(i), "softplus");
      const Value x = soft ? sizeOf(soft->getOperand(0)) : Value();
      if (x && besideNumber(madeBy(op->getOperand(1 - i), "maximum"), 0) == x)
        return x;
    }
    return {};
  }
  auto compare = opName(op) == "select" ? op->getOperand(0).getDefiningOp<graph::CompareOp>() : nullptr;
  if (!compare)
    return {};
  const Value left = withoutZero(compare->getOperand(0)), right = compare->getOperand(1), where = op->getOperand(1);
  if (compare.getComparisonDirection() == graph::ComparisonDirection::NE) {
    mlir::Operation *soft = madeBy(op->getOperand(2), "softplus");
    return soft && soft->getOperand(0) == left && withoutZero(right) == left &&
                   (where == left || besideNumber(madeBy(where, "add"), 0) == left)
               ? left
               : Value();
  }
  constexpr double kFar = 17; // exp(-x) is less than half of the last bit of x
  if (compare.getComparisonDirection() == graph::ComparisonDirection::GT && splatOf(right).value_or(0) >= kFar &&
      where == left && exponentOf(op->getOperand(2)) == left)
    return left;
  return {};
}

} // namespace

void foldSoftplus(mlir::func::FuncOp main) {
  Tables tables(main);
  for (mlir::Operation *op : programOps(main)) {
    if (op->getNumResults() != 1 || !llvm::isa<mlir::RankedTensorType>(op->getResult(0).getType()) ||
        !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))) || elementOf(op->getResult(0)).isF64())
      continue;
    const Value x = softplusOf(op);
    if (!x || !tables.take("softplus", op))
      continue;
    GraphBuilder g(op);
    op->getResult(0).replaceAllUsesWith(tableOf(g, "softplus", x));
    op->erase();
  }
}

} // namespace glia::emit
