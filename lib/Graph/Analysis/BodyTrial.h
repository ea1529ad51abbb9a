// What a body of a reduction or of a sort does, by trying it: one that only compares and selects is known completely by what it does
// for each order of its operands.
#pragma once
#include "GraphBuilder.h"
#include "glia/Lower/Family.h"

#include "llvm/ADT/DenseMap.h"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace glia::emit {

// Evaluates a body of comparisons, selections, numbers and logic; nullopt if it has anything else. What else there is only if it is asked
// for: the total order of floats, in which -0 is below +0; arithmetic, in f64.
class Trial {
public:
  enum More : uint8_t { None, TotalOrder, Arithmetic };
  explicit Trial(mlir::Block &body, More more = None) : body(body), more(more) {}

  std::optional<std::vector<double>> run(llvm::ArrayRef<double> arguments) {
    llvm::DenseMap<mlir::Value, double> values;
    for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
      values[argument] = value;
    for (mlir::Operation &op : body.without_terminator()) {
      std::vector<double> in;
      for (mlir::Value v : op.getOperands()) {
        if (!values.count(v))
          return std::nullopt;
        in.push_back(values[v]);
      }
      const std::optional<double> made = evaluate(&op, in);
      if (!made)
        return std::nullopt;
      values[op.getResult(0)] = *made;
    }
    std::vector<double> out;
    for (mlir::Value v : body.getTerminator()->getOperands()) {
      if (!values.count(v))
        return std::nullopt;
      out.push_back(values[v]);
    }
    return out;
  }

private:
  mlir::Block &body;
  More more;

  // As a number that compares like the total order does.
  static int64_t ordered(double x) {
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? bits ^ INT64_MAX : bits;
  }
  template <class T> static bool compared(graph::ComparisonDirection how, T a, T b) {
    switch (how) {
    case graph::ComparisonDirection::EQ: return a == b;
    case graph::ComparisonDirection::NE: return a != b;
    case graph::ComparisonDirection::GE: return a >= b;
    case graph::ComparisonDirection::GT: return a > b;
    case graph::ComparisonDirection::LE: return a <= b;
    case graph::ComparisonDirection::LT: return a < b;
    }
    return false;
  }

  std::optional<double> evaluate(mlir::Operation *op, llvm::ArrayRef<double> in) const {
    const llvm::StringRef name = opName(op);
    if (auto compare = llvm::dyn_cast<graph::CompareOp>(op)) {
      if (compare.getCompareType() != graph::ComparisonType::TOTALORDER)
        return compared(compare.getComparisonDirection(), in[0], in[1]);
      if (more != TotalOrder)
        return std::nullopt;
      return compared(compare.getComparisonDirection(), ordered(in[0]), ordered(in[1]));
    }
    if (name == "constant")
      return splatOf(op->getResult(0));
    if (name == "select")
      return in[0] != 0 ? in[1] : in[2];
    if (name == "minimum" || name == "maximum") {
      if (std::isnan(in[0]) || std::isnan(in[1]))
        return std::numeric_limits<double>::quiet_NaN();
      return name == "minimum" ? std::fmin(in[0], in[1]) : std::fmax(in[0], in[1]);
    }
    if (op->getNumResults() != 1)
      return std::nullopt;
    if (!elementOf(op->getResult(0)).isInteger(1)) {
      if (more != Arithmetic)
        return std::nullopt;
      const std::optional<double> made = arithmetic(name, in);
      return made || !llvm::isa<mlir::FloatType>(elementOf(op->getResult(0))) ? made : ofFloats(name, in);
    }
    if (name == "and")
      return in[0] != 0 && in[1] != 0;
    if (name == "or")
      return in[0] != 0 || in[1] != 0;
    if (name == "xor")
      return (in[0] != 0) != (in[1] != 0);
    if (name == "not")
      return in[0] == 0;
    return std::nullopt;
  }

  static std::optional<double> arithmetic(llvm::StringRef name, llvm::ArrayRef<double> in) {
    if (name == "add")
      return in[0] + in[1];
    if (name == "subtract")
      return in[0] - in[1];
    if (name == "multiply")
      return in[0] * in[1];
    if (name == "abs")
      return std::fabs(in[0]);
    if (name == "negate")
      return -in[0];
    if (name == "exponential")
      return std::exp(in[0]);
    if (name == "log")
      return std::log(in[0]);
    if (name == "log_plus_one")
      return std::log1p(in[0]);
    if (name == "convert")
      return in[0];
    if (name == "and" || name == "or" || name == "xor") { // of integers
      const auto a = static_cast<int64_t>(in[0]), b = static_cast<int64_t>(in[1]);
      return static_cast<double>(name == "and" ? a & b : name == "or" ? a | b : a ^ b);
    }
    return std::nullopt;
  }
  static std::optional<double> ofFloats(llvm::StringRef name, llvm::ArrayRef<double> in) {
    if (name == "divide")
      return in[0] / in[1];
    if (name == "power")
      return std::pow(in[0], in[1]);
    if (name == "sqrt")
      return std::sqrt(in[0]);
    if (name == "rsqrt")
      return 1 / std::sqrt(in[0]);
    if (name == "exponential_minus_one")
      return std::expm1(in[0]);
    if (name == "logistic")
      return 1 / (1 + std::exp(-in[0]));
    if (name == "tanh")
      return std::tanh(in[0]);
    if (name == "sine")
      return std::sin(in[0]);
    if (name == "cosine")
      return std::cos(in[0]);
    return std::nullopt;
  }
};

} // namespace glia::emit
