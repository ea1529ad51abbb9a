// Means weighted by a softmax: scores are a contraction, weights their softmax, the result a contraction of the weights with values.
//
//   s = a b,  x = scale f(s) (where a condition on the place holds, else a number),  e = exp(x - max x),  result = (e / sum e) v
//
// The rules that this uses, and what they do to numbers, are in docs/graph.md (Weighted means).
#pragma once
#include "ScoreMatch.h"

namespace glia::emit {

struct WeightedMean : MatchedScores {
  graph::DotGeneralOp result;
  unsigned side = 0;      // the operand of `result` that is the weights
  std::vector<int> place; // of each dimension of the weights: the dimension of the scores; -1 for sizes of 1
};

std::optional<WeightedMean> matchWeightedMean(graph::DotGeneralOp result);

// Operations besides those of the mean that read what they give, which is not stored.
std::vector<mlir::Operation *> othersThatRead(const WeightedMean &m);

} // namespace glia::emit
