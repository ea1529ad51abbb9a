#include "IndexForm.h"
#include "glia/Graph/Graph.h"

#include <algorithm>

#include <cstring>

namespace glia::emit {

int64_t IndexForm::places() const {
  int64_t n = 1;
  for (const Batch &b : batch)
    n *= b.count;
  return n;
}

int64_t IndexForm::windowElements() const {
  int64_t n = 1;
  for (const Window &w : window)
    n *= w.count;
  return n;
}

int64_t IndexForm::run() const {
  int64_t n = 1;
  for (size_t i = window.size(); i-- > 0;)
    if (window[i].count == 1)
      continue;
    else if (window[i].data == n && window[i].other == n)
      n *= window[i].count;
    else
      break;
  return n;
}

std::vector<int64_t> IndexForm::start(const Elements &indices, const std::vector<int64_t> &place, bool clamped) const {
  std::vector<int64_t> out(shape.size(), 0);
  int64_t at = 0;
  for (size_t j = 0; j < batch.size(); ++j) {
    at += place[j] * batch[j].index;
    if (batch[j].dim >= 0)
      out[static_cast<size_t>(batch[j].dim)] += place[j];
  }
  for (const Component &c : components) {
    const int64_t v = indices.at(at + c.at).i;
    out[static_cast<size_t>(c.dim)] += clamped ? std::clamp<int64_t>(v, 0, c.most) : v;
  }
  return out;
}

namespace {

using List = llvm::ArrayRef<int64_t>;

struct Numbers {
  List window, collapsed, batching, indexBatching, map;
  int64_t vectorDim;
};

IndexForm formOf(mlir::Value data, mlir::Value indices, mlir::Value other, const Numbers &n, std::vector<int64_t> sizes) {
  IndexForm f;
  f.shape = shapeOf(data);
  f.sizes = std::move(sizes);
  for (const Tile::Dim &d : contiguous(f.shape))
    f.strides.push_back(d.stride);
  const Dims from = contiguous(shapeOf(indices)), to = contiguous(shapeOf(other));
  std::vector<int64_t> otherBatch;
  for (int64_t d = 0; d < static_cast<int64_t>(to.size()); ++d)
    if (!llvm::is_contained(n.window, d))
      otherBatch.push_back(d);
  for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
    if (d == n.vectorDim)
      continue;
    IndexForm::Batch b;
    b.otherDim = otherBatch[f.batch.size()];
    b.count = from[static_cast<size_t>(d)].count;
    b.index = from[static_cast<size_t>(d)].stride;
    b.other = to[static_cast<size_t>(b.otherDim)].stride;
    for (size_t k = 0; k < n.batching.size(); ++k)
      if (n.indexBatching[k] == d) {
        b.dim = n.batching[k];
        b.data = f.strides[static_cast<size_t>(b.dim)];
      }
    f.batch.push_back(b);
  }
  const int64_t step = n.vectorDim < static_cast<int64_t>(from.size()) ? from[static_cast<size_t>(n.vectorDim)].stride : 0;
  for (size_t k = 0; k < n.map.size(); ++k) {
    const auto d = static_cast<size_t>(n.map[k]);
    f.components.push_back({static_cast<int64_t>(k) * step, n.map[k], f.shape[d] - f.sizes[d], f.strides[d]});
  }
  size_t w = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(f.shape.size()); ++d)
    if (!llvm::is_contained(n.collapsed, d) && !llvm::is_contained(n.batching, d)) {
      const int64_t o = n.window[w++];
      const auto i = static_cast<size_t>(d);
      f.window.push_back({d, f.sizes[i], f.strides[i], to[static_cast<size_t>(o)].stride, o});
    }
  return f;
}

} // namespace

std::optional<Elements> knownIndices(mlir::Value v) {
  mlir::Operation *op = v.getDefiningOp();
  if (elementsOf(v) == 0) // index vectors of length 0: there is nothing to be known
    return Elements{llvm::cast<mlir::RankedTensorType>(v.getType()), {}};
  if (op && opName(op) == "constant")
    return elementsOf(op);
  if (const std::optional<double> splat = splatOf(v))
    return Elements{llvm::cast<mlir::RankedTensorType>(v.getType()), {{static_cast<int64_t>(*splat), *splat}}};
  return std::nullopt;
}

// [batch, outer, dim, inner] and indices [batch, picks] give [batch, outer, picks, inner].
static IndexForm selectForm(graph::TorchIndexSelectOp op) {
  const int64_t dim = op.getDim(), batches = op.getBatchDims();
  std::vector<int64_t> sizes = shapeOf(op->getOperand(0)), window, batching;
  const auto picks = static_cast<int64_t>(shapeOf(op->getOperand(1)).size()) - batches;
  for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d)
    if (d < batches)
      batching.push_back(d);
    else if (d != dim)
      window.push_back(d < dim ? d : d - 1 + picks);
  for (int64_t d : batching)
    sizes[static_cast<size_t>(d)] = 1;
  sizes[static_cast<size_t>(dim)] = 1;
  return formOf(op->getOperand(0), op->getOperand(1), op->getResult(0),
                {window, {dim}, batching, batching, {dim}, batches + picks}, sizes);
}

IndexForm gatherForm(mlir::Operation *op) {
  if (auto select = llvm::dyn_cast<graph::TorchIndexSelectOp>(op))
    return selectForm(select);
  auto g = llvm::cast<graph::GatherOp>(op);
  const auto d = g.getDimensionNumbers();
  const List sizes = g.getSliceSizes();
  return formOf(op->getOperand(0), op->getOperand(1), op->getResult(0),
                {d.getOffsetDims(), d.getCollapsedSliceDims(), d.getOperandBatchingDims(), d.getStartIndicesBatchingDims(),
                 d.getStartIndexMap(), d.getIndexVectorDim()},
                {sizes.begin(), sizes.end()});
}

IndexForm scatterForm(mlir::Operation *op) {
  const auto d = llvm::cast<graph::ScatterOp>(op).getScatterDimensionNumbers();
  const std::vector<int64_t> shape = shapeOf(op->getOperand(0)), updates = shapeOf(op->getOperand(2));
  std::vector<int64_t> sizes(shape.size(), 1);
  size_t w = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (!llvm::is_contained(d.getInsertedWindowDims(), i) && !llvm::is_contained(d.getInputBatchingDims(), i))
      sizes[static_cast<size_t>(i)] = updates[static_cast<size_t>(d.getUpdateWindowDims()[w++])];
  return formOf(op->getOperand(0), op->getOperand(1), op->getOperand(2),
                {d.getUpdateWindowDims(), d.getInsertedWindowDims(), d.getInputBatchingDims(),
                 d.getScatterIndicesBatchingDims(), d.getScatterDimsToOperandDims(), d.getIndexVectorDim()},
                std::move(sizes));
}

Tile indexTile(KernelBuilder &k, const Group &g, std::span<const Tile> inputs, mlir::Value indices) {
  if (const auto it = llvm::find(g.inputs, indices); it != g.inputs.end())
    return inputs[static_cast<size_t>(it - g.inputs.begin())];
  const DType t = *machineType(elementOf(indices));
  const auto number = static_cast<int64_t>(splatOf(indices).value());
  const auto size = static_cast<size_t>(sizeOf(t)), count = static_cast<size_t>(elementsOf(indices));
  std::vector<std::byte> data(count * size);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(data.data() + i * size, &number, size);
  return k.constant("indices", t, shapeOf(indices), data);
}

} // namespace glia::emit
