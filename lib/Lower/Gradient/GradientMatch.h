// Gradients of means that a softmax weights: products of values that have an element for each score, with tensors, over the rows or over the
// columns of the scores.
//
//   s = a b,  x = scale s (where a condition on the place holds, else a number),  e = exp(x - max x),  p = c d
//
// Each such value is f e (p + t) or f e, where f and t are numbers of which each row has one (RowTerms.h), whichever way the graph gets there. The
// rules that this uses, and what they do to numbers, are in docs/graph.md (Gradients of weighted means).
#pragma once
#include "Lower/Weighted/ScoreMatch.h"
#include "RowTerms.h"

namespace glia::emit {

struct WeightedGradient : MatchedScores {
  graph::DotGeneralOp second;
  std::vector<int> secondPlace; // of each dimension of its result: the dimension of the scores; -1 for sizes of 1
  int column = -1;              // the dimension of the scores over which each row's weights are
  struct Product {
    graph::DotGeneralOp dot;
    unsigned side; // the operand that has the form
    ScoreForm form;
    std::vector<int> place; // of each dimension of that operand
    bool overRows;
    int factor; // of the form, as a term
  };
  std::vector<Product> products; // in program order
  RowTerms terms;
  bool wide = false; // values between are fp32
  // What is in HBM for the operand of a contraction: perhaps a narrower type of it.
  mlir::Value tensorOf(mlir::Value operand) const;
  // What it reads is there before its first product, so that nothing it gives can be part of it.
  bool readsWhatIsThere() const;
};

// The gradient that has the product among others; nullopt: there is none.
std::optional<WeightedGradient> matchGradient(graph::DotGeneralOp product);

} // namespace glia::emit
