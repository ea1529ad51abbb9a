#include "ComputeRules.h"
#include "RuleWriter.h"

using namespace mlir;

namespace glia::partition {

using namespace graph;

// ---- gather and scatter ----------------------------------------------------------------------------------------------------

// Rows of a table: those that another rank has are zeros, and the ranks' results are added up.
Rule gatherRule(Operation *op) {
  Writer w(op);
  auto g = cast<GatherOp>(op);
  const GatherDimensionNumbersAttr n = g.getDimensionNumbers();
  const auto table = cast<RankedTensorType>(op->getOperand(0).getType());
  const int64_t resultRank = rankOf(op->getResult(0).getType());
  SmallVector<int64_t> batch, offset; // dimensions of the result
  for (int64_t d = 0; d < resultRank; ++d)
    (llvm::is_contained(n.getOffsetDims(), d) ? offset : batch).push_back(d);
  size_t next = 0;
  for (int64_t d = 0; d < rankOf(op->getOperand(1).getType()); ++d) {
    if (d == n.getIndexVectorDim())
      continue;
    const int64_t to = batch[next++];
    const auto *at = llvm::find(n.getStartIndicesBatchingDims(), d);
    if (at != n.getStartIndicesBatchingDims().end())
      w.letter({{0, n.getOperandBatchingDims()[static_cast<size_t>(at - n.getStartIndicesBatchingDims().begin())]},
                {1, d},
                {2, to}},
               sizeAt(op->getOperand(1), d));
    else
      w.letter({{1, d}, {2, to}}, sizeAt(op->getOperand(1), d));
  }
  next = 0;
  for (int64_t d = 0; d < table.getRank(); ++d) {
    if (llvm::is_contained(n.getOperandBatchingDims(), d))
      continue;
    const int64_t size = table.getDimSize(static_cast<unsigned>(d));
    if (llvm::is_contained(n.getCollapsedSliceDims(), d)) {
      if (llvm::is_contained(n.getStartIndexMap(), d) && isa<FloatType, IntegerType>(table.getElementType()))
        w.letter({{0, d}}, size, Letter::Sum);
      continue;
    }
    const int64_t to = offset[next++];
    if (g.getSliceSizes()[static_cast<size_t>(d)] == size)
      w.letter({{0, d}, {2, to}}, size);
  }
  return w.finish();
}

// Updates of several ranks are put together; rows of the operand that another rank has are outside, and left out.
Rule scatterRule(Operation *op) {
  auto s = cast<ScatterOp>(op);
  if (s.getInputs().size() != 1)
    return Writer(op).finish();
  Writer w(op);
  const ScatterDimensionNumbersAttr n = s.getScatterDimensionNumbers();
  const Value operand = op->getOperand(0), indices = op->getOperand(1), updates = op->getOperand(2);
  const bool sums = identityOf(combinerOf(s.getUpdateComputation()),
                               cast<RankedTensorType>(operand.getType()).getElementType()) != nullptr;
  SmallVector<int64_t> batch, window; // dimensions of the updates
  for (int64_t d = 0; d < rankOf(updates.getType()); ++d)
    (llvm::is_contained(n.getUpdateWindowDims(), d) ? window : batch).push_back(d);
  size_t next = 0;
  for (int64_t d = 0; d < rankOf(indices.getType()); ++d) {
    if (d == n.getIndexVectorDim())
      continue;
    const int64_t from = batch[next++];
    const auto *at = llvm::find(n.getScatterIndicesBatchingDims(), d);
    if (at != n.getScatterIndicesBatchingDims().end()) {
      const int64_t own = n.getInputBatchingDims()[static_cast<size_t>(at - n.getScatterIndicesBatchingDims().begin())];
      w.letter({{0, own}, {1, d}, {2, from}, {3, own}}, sizeAt(indices, d));
    } else {
      w.letter({{1, d}, {2, from}}, sizeAt(indices, d), sums ? Letter::Sum : Letter::Whole);
    }
  }
  next = 0;
  for (int64_t d = 0; d < rankOf(operand.getType()); ++d) {
    if (llvm::is_contained(n.getInputBatchingDims(), d))
      continue;
    const bool moved = llvm::is_contained(n.getScatterDimsToOperandDims(), d);
    if (llvm::is_contained(n.getInsertedWindowDims(), d)) {
      w.letter({{0, d}, {3, d}}, sizeAt(operand, d), moved ? Letter::Pass : Letter::Whole);
      continue;
    }
    const int64_t from = window[next++];
    if (!moved && sizeAt(updates, from) == sizeAt(operand, d))
      w.letter({{0, d}, {2, from}, {3, d}}, sizeAt(operand, d));
    else
      w.letter({{0, d}, {3, d}}, sizeAt(operand, d), Letter::Whole);
  }
  return w.finish();
}

// ---- contractions, reductions and windows -----------------------------------------------------------------------------------

static Rule contraction(Operation *op, ArrayRef<int64_t> lhsBatch, ArrayRef<int64_t> rhsBatch, ArrayRef<int64_t> lhsSum,
                        ArrayRef<int64_t> rhsSum) {
  Writer w(op);
  const Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  int64_t to = 0;
  for (auto [a, b] : llvm::zip(lhsBatch, rhsBatch))
    w.letter({{0, a}, {1, b}, {2, to++}}, sizeAt(lhs, a));
  for (int64_t d = 0; d < rankOf(lhs.getType()); ++d)
    if (!llvm::is_contained(lhsBatch, d) && !llvm::is_contained(lhsSum, d))
      w.letter({{0, d}, {2, to++}}, sizeAt(lhs, d));
  for (int64_t d = 0; d < rankOf(rhs.getType()); ++d)
    if (!llvm::is_contained(rhsBatch, d) && !llvm::is_contained(rhsSum, d))
      w.letter({{1, d}, {2, to++}}, sizeAt(rhs, d));
  for (auto [a, b] : llvm::zip(lhsSum, rhsSum))
    w.letter({{0, a}, {1, b}}, sizeAt(lhs, a), Letter::Sum);
  return w.finish();
}
Rule dotGeneralRule(Operation *op) {
  const DotDimensionNumbersAttr n = cast<DotGeneralOp>(op).getDotDimensionNumbers();
  return contraction(op, n.getLhsBatchingDimensions(), n.getRhsBatchingDimensions(), n.getLhsContractingDimensions(),
                     n.getRhsContractingDimensions());
}
Rule dotRule(Operation *op) { return contraction(op, {}, {}, {rankOf(op->getOperand(0).getType()) - 1}, {0}); }

Rule convolutionRule(Operation *op) {
  Writer w(op);
  auto c = cast<ConvolutionOp>(op);
  const ConvDimensionNumbersAttr n = c.getDimensionNumbers();
  const bool oneBatch = c.getBatchGroupCount() == 1, oneFeature = c.getFeatureGroupCount() == 1;
  if (oneBatch)
    w.letter({{0, n.getInputBatchDimension()}, {2, n.getOutputBatchDimension()}},
             sizeAt(op->getOperand(0), n.getInputBatchDimension()));
  if (oneBatch && oneFeature) {
    w.letter({{1, n.getKernelOutputFeatureDimension()}, {2, n.getOutputFeatureDimension()}},
             sizeAt(op->getOperand(1), n.getKernelOutputFeatureDimension()));
    w.letter({{0, n.getInputFeatureDimension()}, {1, n.getKernelInputFeatureDimension()}},
             sizeAt(op->getOperand(0), n.getInputFeatureDimension()), Letter::Sum);
  }
  return w.finish();
}

// Of parts, and then of what they give: not where a body may give something else in another order, or the start counts once more.
static bool goesByParts(ReduceOp op) {
  if (op.getInputs().size() == 1 && !combinerOf(op.getBody()).empty())
    return true;
  return llvm::all_of(op.getBody().front().without_terminator(), [](Operation &inner) { // takes one of two
    return isa<CompareOp, SelectOp, ConstantOp, AndOp, OrOp, NotOp, MaxOp, MinOp>(inner);
  });
}

Rule reduceRule(Operation *op) {
  Writer w(op);
  auto r = cast<ReduceOp>(op);
  const size_t arrays = r.getInputs().size();
  const bool parts = goesByParts(r);
  int64_t to = 0;
  for (int64_t d = 0; d < rankOf(op->getOperand(0).getType()); ++d) {
    const bool gone = llvm::is_contained(r.getDimensions(), d);
    const int64_t size = sizeAt(op->getOperand(0), d), at = gone ? 0 : to++;
    if (size == 1)
      continue;
    const int l = w.rule.add(size, !gone ? Letter::Pass : parts ? Letter::Sum : Letter::Whole);
    for (size_t k = 0; k < arrays; ++k) {
      w.put({k, d}, l);
      if (!gone)
        w.put({w.result(k), at}, l);
    }
  }
  return w.finish();
}

// All shaped tensors have the same dimensions; those that `same` says pass.
static Rule along(Operation *op, function_ref<bool(int64_t)> same) {
  Writer w(op);
  const int64_t rank = rankOf(op->getOperand(0).getType());
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t size = sizeAt(op->getOperand(0), d);
    if (!same(d) || size == 1)
      continue;
    const int l = w.rule.add(size);
    for (size_t t = 0; t < w.rule.tensors.size(); ++t)
      if (w.rule.tensors[t].size() == static_cast<size_t>(rank))
        w.put({t, d}, l);
  }
  return w.finish();
}

Rule sortRule(Operation *op) {
  const auto dim = static_cast<int64_t>(cast<SortOp>(op).getDimension());
  const int64_t rank = rankOf(op->getOperand(0).getType()), sorted = dim < 0 ? dim + rank : dim;
  return along(op, [&](int64_t d) { return d != sorted; });
}
Rule topKRule(Operation *op) {
  return along(op, [&](int64_t d) { return d + 1 != rankOf(op->getOperand(0).getType()); });
}

static bool isPlain(std::optional<ArrayRef<int64_t>> list, int64_t d) {
  return !list || (*list)[static_cast<size_t>(d)] == 1;
}
static bool isUnpadded(const std::optional<DenseIntElementsAttr> &padding, int64_t d) {
  if (!padding || !*padding || padding->empty())
    return true;
  const auto values = padding->getValues<int64_t>();
  return values[static_cast<size_t>(2 * d)] == 0 && values[static_cast<size_t>(2 * d + 1)] == 0;
}
Rule reduceWindowRule(Operation *op) {
  auto r = cast<ReduceWindowOp>(op);
  return along(op, [&](int64_t d) {
    return isPlain(r.getWindowDimensions(), d) && isPlain(r.getWindowStrides(), d) && isPlain(r.getBaseDilations(), d) &&
           isUnpadded(r.getPadding(), d);
  });
}
Rule selectAndScatterRule(Operation *op) {
  auto s = cast<SelectAndScatterOp>(op);
  return along(op, [&](int64_t d) {
    return isPlain(s.getWindowDimensions(), d) && isPlain(s.getWindowStrides(), d) && isUnpadded(s.getPadding(), d);
  });
}

// ---- others -----------------------------------------------------------------------------------------------------------------

// All but the last `n` dimensions pass.
static Rule batched(Operation *op, int64_t n) {
  return along(op, [&](int64_t d) { return d + n < rankOf(op->getOperand(0).getType()); });
}
Rule matricesRule(Operation *op) { return batched(op, 2); }
Rule fftRule(Operation *op) { return batched(op, static_cast<int64_t>(cast<FftOp>(op).getFftLength().size())); }

} // namespace glia::partition
