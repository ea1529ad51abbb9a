#include "WeightedMatch.h"
#include "Graph/Analysis/GraphFacts.h"
#include "Lower/Rows/RowsPlan.h"

#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>

namespace glia::emit {

namespace {

class Matcher : ScoreMatcher {
public:
  Matcher(graph::DotGeneralOp result, unsigned side) {
    mean.result = result;
    mean.side = side;
  }

  std::optional<WeightedMean> run() {
    const mlir::Value weights = mean.result->getOperand(mean.side);
    mlir::Operation *divide = made(weights);
    if (!divide || opName(divide) != "divide")
      return std::nullopt;
    mlir::Operation *e = made(divide->getOperand(0)), *total = made(divide->getOperand(1));
    if (!e || opName(e) != "exponential" || !total || opName(total) != "reduce")
      return std::nullopt;
    mlir::Operation *below = made(e->getOperand(0));
    if (!below || opName(below) != "subtract")
      return std::nullopt;
    mlir::Operation *most = largestOf(below->getOperand(1), below->getOperand(0));
    if (!most || !reduces(total, "add", e->getResult(0)))
      return std::nullopt;
    for (mlir::Operation *op : {divide, e, total, below, most, mean.result.getOperation()})
      m.ops.insert(op);
    if (!placesFit(weights, divide, below) || !apart())
      return std::nullopt;
    static_cast<MatchedScores &>(mean) = std::move(m);
    return std::move(mean);
  }

private:
  WeightedMean mean;

  // The contracted dimensions of the weights are the columns. One number per row stands beside each of its columns.
  bool placesFit(mlir::Value weights, mlir::Operation *divide, mlir::Operation *below) {
    const std::optional<Place> at = placeOf(weights);
    if (!at)
      return false;
    mean.place = *at;
    const auto n = mean.result.getDotDimensionNumbers();
    llvm::DenseSet<int> columns;
    for (int64_t d : mean.side ? n.getRhsContractingDimensions() : n.getLhsContractingDimensions())
      if ((*at)[static_cast<size_t>(d)] >= 0)
        columns.insert((*at)[static_cast<size_t>(d)]);
    for (mlir::Operation *op : m.ops)
      if (opName(op) == "reduce" && !reducesColumns(op, columns))
        return false;
    for (mlir::Operation *op : {divide, below}) {
      const std::optional<Place> full = placeOf(op->getOperand(0)), row = placeOf(op->getOperand(1));
      if (!full || !row)
        return false;
      for (size_t d = 0; d < full->size(); ++d)
        if ((*full)[d] >= 0 && (*row)[d] != (columns.contains((*full)[d]) ? kSpread : (*full)[d]))
          return false;
    }
    return llvm::none_of(*at, [](int d) { return d == kSpread; });
  }

  bool reducesColumns(mlir::Operation *op, const llvm::DenseSet<int> &columns) {
    std::string why;
    const std::optional<Reduction> r = reductionOf(op, why);
    const std::optional<Place> from = placeOf(op->getOperand(0));
    if (!from)
      return false;
    size_t found = 0;
    for (int64_t d : r->dims)
      if ((*from)[static_cast<size_t>(d)] == kSpread)
        return false;
      else if (const int p = (*from)[static_cast<size_t>(d)]; p >= 0) {
        if (!columns.contains(p))
          return false;
        ++found;
      }
    return found == columns.size();
  }

  // Neither the values nor the steps are made of what is not stored.
  bool apart() const {
    return !m.ops.contains(mean.result->getOperand(1 - mean.side).getDefiningOp()) &&
           llvm::none_of(m.beside, [&](mlir::Operation *op) { return m.ops.contains(op); }) &&
           llvm::none_of(m.steps, [&](const ScoreStep &s) {
             return llvm::any_of(s.beside.views,
                                 [&](const TensorView &view) { return m.ops.contains(view.source.getDefiningOp()); });
           });
  }
};

} // namespace

std::vector<mlir::Operation *> othersThatRead(const WeightedMean &m) {
  llvm::SetVector<mlir::Operation *> out;
  for (mlir::Operation *op : m.ops)
    if (op != m.result->getResult(0).getDefiningOp())
      for (mlir::Operation *u : op->getUsers())
        if (!m.ops.contains(u))
          out.insert(u);
  return {out.begin(), out.end()};
}

std::optional<WeightedMean> matchWeightedMean(graph::DotGeneralOp result) {
  for (unsigned side : {0u, 1u})
    if (std::optional<WeightedMean> m = Matcher(result, side).run())
      return m;
  return std::nullopt;
}

} // namespace glia::emit
