// Numbers of which each row has one, as terms over what a kernel knows of a row: the sum of its weights, the sum of their products, tensors in
// HBM. What a graph does with such numbers is kept as it is and written as instructions of one element per partition.
#pragma once
#include "Lower/Weighted/ScoreSteps.h"

#include <map>

namespace glia::emit {

struct RowTerm {
  enum Kind : uint8_t { Number, Weights, Products, Tensor, Combine };
  Kind kind = Number;
  double number = 0;            // Number; Tensor: a factor
  std::string_view op;          // Combine: add, multiply or divide
  int a = -1, b = -1;           // Combine: other terms
  mlir::Value source;           // Tensor
  std::vector<int64_t> strides; // Tensor: along the dimensions of the scores
  bool operator==(const RowTerm &) const = default;
};

class RowTerms {
public:
  int add(const RowTerm &t);
  int number(double n);
  int combine(std::string_view op, int a, int b);
  // Where such a term is not finite (sums of weights: NaN), this one is not either.
  bool spreads(int term, RowTerm::Kind kind) const;
  const RowTerm &operator[](int i) const { return all[static_cast<size_t>(i)]; }
  size_t size() const { return all.size(); }

private:
  std::vector<RowTerm> all; // each one once
};

// A number and terms to whole powers, multiplied.
struct RowFactor {
  double number = 1;
  std::map<int, int> powers;
  RowFactor times(const RowFactor &o, int power = 1) const;
  int term(RowTerms &terms) const;
  bool operator==(const RowFactor &) const = default;
};

// A value with an element for each score: the factor, times the weight e if `weight`, times (p + shift) if `product`, where p is the second
// contraction.
struct ScoreForm {
  RowFactor factor;
  bool weight = false, product = false;
  int shift = -1;      // a term; -1: 0
  bool chosen = false; // 0 where the conditions of the scores do not hold
};

// nullopt: it has no such form.
std::optional<ScoreForm> productOf(const ScoreForm &a, const ScoreForm &b);
std::optional<ScoreForm> sumOf(RowTerms &terms, ScoreForm a, ScoreForm b, double sign); // a + sign b

} // namespace glia::emit
