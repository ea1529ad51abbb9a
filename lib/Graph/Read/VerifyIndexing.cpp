// Verifiers of gather and scatter.
#include "Verify.h"

using namespace mlir;

namespace glia::graph {

static bool contains(ArrayRef<int64_t> list, int64_t value) { return llvm::is_contained(list, value); }

// The dimensions of the indices without that of the index vectors: one slice for each place.
static Shape batchShape(RankedTensorType indices, int64_t vectorDim) {
  Shape shape(indices.getShape());
  if (vectorDim < indices.getRank())
    shape.erase(shape.begin() + vectorDim);
  return shape;
}

// What gather and scatter have in common, by the names of one of them.
struct Indexing {
  StringRef windowName, removedName, batchingName, indicesBatchingName, mapName;
  ArrayRef<int64_t> window, removed, batching, indicesBatching, map;
  int64_t vectorDim;
};

static LogicalResult checkIndexing(Operation *op, const Indexing &x, RankedTensorType operand, RankedTensorType indices,
                                   int64_t windowedRank) {
  const int64_t rank = operand.getRank(), indexRank = indices.getRank();
  if (x.vectorDim < 0 || x.vectorDim > indexRank)
    return op->emitOpError() << "index_vector_dim is " << x.vectorDim << ", and the indices have " << indexRank
                             << " dimensions";
  const int64_t length = x.vectorDim < indexRank ? indices.getDimSize(x.vectorDim) : 1;
  if (failed(checkSize(op, x.mapName, x.map.size(), length)) ||
      failed(checkDims(op, x.windowName, x.window, windowedRank, /*sorted=*/true)) ||
      failed(checkDims(op, x.removedName, x.removed, rank, /*sorted=*/true)) ||
      failed(checkDims(op, x.batchingName, x.batching, rank, /*sorted=*/true)) ||
      failed(checkDims(op, x.indicesBatchingName, x.indicesBatching, indexRank)) ||
      failed(checkDims(op, x.mapName, x.map, rank)) ||
      failed(checkSize(op, x.indicesBatchingName, x.indicesBatching.size(), x.batching.size())))
    return failure();
  for (auto [operandDim, indexDim] : llvm::zip(x.batching, x.indicesBatching)) {
    if (contains(x.removed, operandDim) || contains(x.map, operandDim))
      return op->emitOpError() << "dimension " << operandDim << " is in " << x.batchingName << " and in " << x.removedName
                               << " or " << x.mapName;
    if (indexDim == x.vectorDim)
      return op->emitOpError() << x.indicesBatchingName << " holds index_vector_dim";
    if (operand.getDimSize(operandDim) != indices.getDimSize(indexDim))
      return op->emitOpError() << "batching dimensions " << operandDim << " and " << indexDim << " have different sizes";
  }
  if (static_cast<int64_t>(x.window.size() + x.removed.size() + x.batching.size()) != rank)
    return op->emitOpError() << x.windowName << ", " << x.removedName << " and " << x.batchingName << " together hold "
                             << x.window.size() + x.removed.size() + x.batching.size() << " dimensions, and the operand has "
                             << rank;
  return success();
}

// The shape in which windows and batch are interleaved.
static Shape weave(ArrayRef<int64_t> batch, ArrayRef<int64_t> window, ArrayRef<int64_t> windowDims) {
  Shape shape;
  const int64_t rank = batch.size() + window.size();
  size_t nextBatch = 0, nextWindow = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (contains(windowDims, d) && nextWindow < window.size())
      shape.push_back(window[nextWindow++]);
    else if (nextBatch < batch.size())
      shape.push_back(batch[nextBatch++]);
  }
  return shape;
}

LogicalResult GatherOp::verify() {
  const GatherDimensionNumbersAttr d = getDimensionNumbers();
  const auto operand = getOperand().getType(), indices = getStartIndices().getType();
  const Indexing x{"offset_dims",
                   "collapsed_slice_dims",
                   "operand_batching_dims",
                   "start_indices_batching_dims",
                   "start_index_map",
                   d.getOffsetDims(),
                   d.getCollapsedSliceDims(),
                   d.getOperandBatchingDims(),
                   d.getStartIndicesBatchingDims(),
                   d.getStartIndexMap(),
                   d.getIndexVectorDim()};
  if (failed(checkIndexing(*this, x, operand, indices, getResult().getType().getRank())) ||
      failed(checkSize(*this, "slice_sizes", getSliceSizes().size(), operand.getRank())))
    return failure();
  Shape window;
  for (auto [i, size] : llvm::enumerate(getSliceSizes())) {
    const bool left = !contains(x.removed, i) && !contains(x.batching, i);
    if (size < 0 || size > operand.getDimSize(i) || (!left && size > 1))
      return emitOpError() << "slice size " << size << " does not fit dimension " << i << " of " << operand
                           << (left ? "" : ", which is left out of the result and must be 1");
    if (left)
      window.push_back(size);
  }
  return checkResult(*this, 0, weave(batchShape(indices, x.vectorDim), window, x.window), operand.getElementType());
}

LogicalResult ScatterOp::verifyRegions() {
  const ScatterDimensionNumbersAttr d = getScatterDimensionNumbers();
  if (getInputs().empty())
    return emitOpError() << "needs at least one operand";
  const auto operand = tensor(getInputs()[0]), indices = getScatterIndices().getType(), update = tensor(getUpdates()[0]);
  const Indexing x{"update_window_dims",
                   "inserted_window_dims",
                   "input_batching_dims",
                   "scatter_indices_batching_dims",
                   "scatter_dims_to_operand_dims",
                   d.getUpdateWindowDims(),
                   d.getInsertedWindowDims(),
                   d.getInputBatchingDims(),
                   d.getScatterIndicesBatchingDims(),
                   d.getScatterDimsToOperandDims(),
                   d.getIndexVectorDim()};
  if (failed(checkIndexing(*this, x, operand, indices, update.getRank())) ||
      failed(checkSize(*this, "the list of results", getNumResults(), getInputs().size())))
    return failure();
  SmallVector<Type> accumulators;
  for (auto [i, in, up] : llvm::enumerate(getInputs(), getUpdates())) {
    if (tensor(in).getShape() != operand.getShape() || tensor(up).getShape() != update.getShape())
      return emitOpError() << "all inputs must have one shape, and all updates one";
    if (!isPromotable(element(up), element(in)))
      return emitOpError() << "updates " << up.getType() << " cannot be combined with " << in.getType();
    if (failed(checkType(*this, "result #" + Twine(i), getResult(i).getType(), in.getType())))
      return failure();
    accumulators.push_back(element(in));
  }
  Shape batch = batchShape(indices, x.vectorDim), window, full;
  if (update.getRank() != static_cast<int64_t>(batch.size() + x.window.size()))
    return emitOpError() << "updates " << update << " must have " << batch.size() << " dimensions of the indices and "
                         << x.window.size() << " of the window";
  for (int64_t dim : x.window)
    window.push_back(update.getDimSize(dim));
  for (int64_t i = 0; i < operand.getRank(); ++i)
    if (!contains(x.removed, i) && !contains(x.batching, i))
      full.push_back(operand.getDimSize(i));
  for (auto [size, limit] : llvm::zip(window, full))
    if (size > limit)
      return emitOpError() << "a window of the updates " << update << " is larger than the input " << operand;
  if (const Shape expected = weave(batch, window, x.window); ArrayRef<int64_t>(expected) != update.getShape())
    return emitOpError() << "updates are " << update << ", and the indices give "
                         << RankedTensorType::get(expected, update.getElementType());
  return checkReducer(*this, "update_computation", getUpdateComputation(), accumulators);
}

} // namespace glia::graph
