// Means weighted by a softmax: scores are a contraction, weights their softmax, the result a contraction of the weights with values.
//
//   s = a b,  x = scale f(s) (where a condition on the place holds, else a number),  e = exp(x - max x),  result = (e / sum e) v
//
// The rules that this uses, and what they do to numbers, are in docs/graph.md (Weighted means).
#pragma once
#include "Graph/Analysis/IndexCondition.h"
#include "ScoreSteps.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

struct WeightedMean {
  graph::DotGeneralOp scores, result;
  unsigned side = 0;                      // the operand of `result` that is the weights
  std::vector<ScoreStep> steps;           // what f does; often nothing
  double scale = 1;                       // greater than 0
  double masked = 0;                      // what x is where a condition does not hold
  std::vector<IndexCondition> keep;       // over the dimensions of the scores
  std::vector<int> place;                 // of each dimension of the weights: the dimension of the scores; -1 for sizes of 1
  llvm::SetVector<mlir::Operation *> ops; // from the scores to the result: nobody else needs what they give
  llvm::SetVector<mlir::Operation *>
      beside; // what conditions are made of, and the views of the steps: others may need them too
};

std::optional<WeightedMean> matchWeightedMean(graph::DotGeneralOp result);

} // namespace glia::emit
