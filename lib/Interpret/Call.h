// What the rules of the interpreter see of an operation. They know nothing of MLIR: a rule is a function of a Call, and one table per
// family (Rules.h) gives each operation its rule.
#pragma once
#include "Interpret/Tensor.h"

#include <optional>
#include <string>
#include <string_view>

namespace glia::interp {

struct TensorType {
  Element element = Element::Token;
  Shape shape;
};

// Name, types and attributes of one operation.
class OpView {
public:
  virtual ~OpView() = default;
  virtual std::string_view name() const = 0; // "stablehlo.add"
  virtual size_t operandCount() const = 0;
  virtual size_t resultCount() const = 0;
  virtual TensorType operandType(size_t i) const = 0;
  virtual TensorType resultType(size_t i) const = 0;

  // Attributes by their public names; fields of structured ones as "dot_dimension_numbers.lhs_batching_dimensions". Enums are text.
  virtual std::optional<Shape>
  ints(std::string_view attribute) const = 0; // also one integer or flag, and tables of integers, flat
  virtual std::optional<std::string> text(std::string_view attribute) const = 0;
  virtual std::optional<double> number(std::string_view attribute) const = 0;
  virtual std::optional<Tensor> elements(std::string_view attribute) const = 0;
  Shape intsOr(std::string_view attribute, size_t count, int64_t value) const;
  int64_t integerOr(std::string_view attribute, int64_t value) const;

  // Throws Error with the place of the operation.
  [[noreturn]] void fail(std::string message, std::string advice = {}) const {
    failAs("GRAPH-INTERPRET", std::move(message), std::move(advice));
  }
  [[noreturn]] virtual void failAs(std::string_view code, std::string message, std::string advice) const = 0;

  bool inDouble = false;
};

// A region whose arguments and results are single elements: the body of a reduction, a comparator.
class Body {
public:
  virtual ~Body() = default;
  // Name of the operation if result k of n is nothing but op(argument k, argument n + k), else empty.
  virtual std::string_view single(size_t result = 0) const = 0;
  virtual void run(const Word *arguments, Word *results) = 0;
};

// Who evaluates, and among how many.
struct Place {
  int64_t rank = 0, replicas = 1, partitions = 1; // rank = replica * partitions + partition
};

// An operation with its operands, being evaluated.
class Call : public OpView {
public:
  std::vector<Datum> operands, results;
  const Tensor &tensor(size_t i) const { return operands[i].tensor; }
  void set(size_t i, Tensor t) { results[i].tensor = std::move(t); }
  Tensor fresh(size_t i) const; // zeros of the type of a result

  virtual std::unique_ptr<Body> body(size_t region) = 0;
  // Name of the operation if the body is nothing but `return op(a, b)`, empty if it is `return b`.
  virtual std::optional<std::string> singleOperation(size_t region) = 0;
  virtual std::vector<Datum> region(size_t region, std::vector<Datum> arguments) = 0;
  virtual std::vector<Datum> function(const std::string &name, std::vector<Datum> arguments) = 0;
  virtual size_t regionCount() const = 0;
  virtual void countIteration() = 0; // of a loop; fails when there were too many

  virtual Place place() const = 0;
  // The operands of each of these ranks, this one among them, when they have all come to this operation.
  virtual std::vector<std::vector<Datum>> exchange(const std::vector<int64_t> &ranks) = 0;
  // Values to a channel of another rank, and the first that were given to one of this rank, when they are there.
  virtual void give(int64_t to, int64_t channel, std::vector<Datum> values) = 0;
  virtual std::vector<Datum> take(int64_t channel) = 0;
};

} // namespace glia::interp
