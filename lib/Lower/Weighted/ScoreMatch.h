// What is exponentiated, followed back to the contraction that gives the scores: through factors, functions, tensors beside them and choices by
// the place. Kernels of weighted means and of their gradients begin with it.
#pragma once
#include "Graph/Analysis/IndexCondition.h"
#include "ScoreSteps.h"
#include "glia/Graph/Graph.h"

namespace glia::emit {

struct MatchedScores {
  graph::DotGeneralOp scores;
  std::vector<ScoreStep> steps;           // what f does; often nothing
  double scale = 1;                       // greater than 0
  double masked = 0;                      // what x is where a condition does not hold
  std::vector<IndexCondition> keep;       // over the dimensions of the scores
  mlir::Value chosen;                     // the result of the select by these conditions
  llvm::SetVector<mlir::Operation *> ops; // from the scores on
  llvm::SetVector<mlir::Operation *>
      beside; // what conditions are made of, and the views of the steps: others may need them too
};

class ScoreMatcher {
public:
  // For each dimension of a value: that of the scores, or one of these.
  using Place = std::vector<int>;
  static constexpr int kOne = -1, kSpread = -2; // a dimension of size 1; one along which a value is repeated

  MatchedScores m;

  // The operation whose values these are, in whatever order, type and number of repetitions. What stands between goes into the group.
  mlir::Operation *made(mlir::Value v);
  // The largest of each row, which is subtracted from `x` before it is exponentiated; nullptr: something else is.
  mlir::Operation *largestOf(mlir::Value subtracted, mlir::Value x);
  // From what is exponentiated to the scores. Of several ways the first that ends with a contraction.
  bool before(mlir::Value v);
  // Where each dimension of a value stands in the scores.
  std::optional<Place> placeOf(mlir::Value v);
  // Reduces `v`, from a start that changes nothing.
  bool reduces(mlir::Operation *op, std::string_view how, mlir::Value v);

private:
  llvm::DenseMap<mlir::Value, Place> places;
  int tried = 0;

  mlir::Value source(mlir::Value v);
  bool after(ScoreStep step, mlir::Value operand);
  bool combined(mlir::Operation *op, unsigned mine);
  bool either(mlir::Operation *op, unsigned mine);
  bool masked(mlir::Value mask, std::vector<mlir::Value> path, bool reversed, double number, mlir::Value v);
  bool isPlace(mlir::Value mask, const std::vector<mlir::Value> &path, bool reversed, double number, mlir::Value v);
  bool stepsFit();
  bool conditionsFit();
};

// Where each dimension of the result of an operation that moves or reduces stands, from where those of its operand do; nullopt: it does more
// than that.
std::optional<ScoreMatcher::Place> placeThrough(mlir::Operation *op, mlir::Value in, mlir::Value result,
                                                const ScoreMatcher::Place &from);

} // namespace glia::emit
