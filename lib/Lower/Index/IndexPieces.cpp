#include "IndexPieces.h"
#include "Lower/Window/WindowPlan.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr size_t kMostPieces = 256;

// Two pieces one after the other along dimension d become one.
bool follows(const Piece &last, const Piece &next, size_t d, int64_t offset) {
  const PieceAxis &a = last.axes[d], &b = next.axes[d];
  for (size_t i = 0; i < last.axes.size(); ++i)
    if (i != d && (last.axes[i].from != next.axes[i].from || last.axes[i].count != next.axes[i].count))
      return false;
  if (b.count != 1 || b.from <= a.from)
    return false;
  if (a.count == 1)
    return true;
  return b.from == a.from + a.step * a.count && offset == a.stride * a.count;
}

// Appends a piece, or makes the last one longer.
void append(Pieces &out, Piece next, std::optional<size_t> along) {
  if (along && !out.empty() && out.back().bits == next.bits) {
    Piece &last = out.back();
    const int64_t offset = next.offset - last.offset;
    PieceAxis &a = last.axes[*along];
    if (follows(last, next, *along, offset)) {
      if (a.count == 1) {
        a.step = next.axes[*along].from - a.from;
        a.stride = offset;
      }
      ++a.count;
      return;
    }
  }
  out.push_back(std::move(next));
}

std::vector<int64_t> countsOf(const IndexForm &f) {
  std::vector<int64_t> out;
  for (const IndexForm::Batch &b : f.batch)
    out.push_back(b.count);
  return out;
}

} // namespace

std::optional<Pieces> gatheredPieces(mlir::Operation *op) {
  const std::optional<Elements> indices = knownIndices(op->getOperand(1));
  if (!indices)
    return std::nullopt;
  const IndexForm f = gatherForm(op);
  if (f.places() > 65536)
    return std::nullopt;
  const size_t rank = shapeOf(op->getResult(0)).size();
  const std::optional<size_t> along =
      f.batch.empty() ? std::nullopt : std::optional(static_cast<size_t>(f.batch.back().otherDim));
  Pieces out;
  forEachIndex(countsOf(f), [&](const std::vector<int64_t> &place) {
    Piece p;
    if (const std::optional<uint32_t> bits = splatBits(op->getOperand(0)))
      p.bits = bits;
    else
      p.source = op->getOperand(0);
    const std::vector<int64_t> start = f.start(*indices, place, true);
    for (size_t d = 0; d < start.size(); ++d)
      p.offset += start[d] * f.strides[d];
    p.axes.resize(rank);
    for (size_t j = 0; j < f.batch.size(); ++j)
      p.axes[static_cast<size_t>(f.batch[j].otherDim)].from = place[j];
    for (const IndexForm::Window &w : f.window)
      p.axes[static_cast<size_t>(w.otherDim)] = {0, 1, w.count, w.data};
    append(out, std::move(p), along);
  });
  return out.size() > kMostPieces ? std::nullopt : std::optional(std::move(out));
}

std::optional<Pieces> scatteredPieces(mlir::Operation *op) {
  const std::optional<Elements> indices = knownIndices(op->getOperand(1));
  if (!indices)
    return std::nullopt;
  const IndexForm f = scatterForm(op);
  if (f.places() > 65536)
    return std::nullopt;
  // The dimension of the data that neighbours differ in: the one of the last component, if the window has one element there.
  std::optional<size_t> along;
  for (const IndexForm::Component &c : f.components)
    if (f.sizes[static_cast<size_t>(c.dim)] == 1)
      along = static_cast<size_t>(c.dim);
  Pieces out;
  forEachIndex(countsOf(f), [&](const std::vector<int64_t> &place) {
    const std::vector<int64_t> start = f.start(*indices, place, false);
    Piece p;
    if (const std::optional<uint32_t> bits = splatBits(op->getOperand(2)))
      p.bits = bits;
    else
      p.source = op->getOperand(2);
    p.axes.resize(f.shape.size());
    for (size_t d = 0; d < start.size(); ++d) {
      if (start[d] < 0 || start[d] > f.shape[d] - f.sizes[d])
        return;
      p.axes[d].from = start[d];
    }
    for (size_t j = 0; j < f.batch.size(); ++j)
      p.offset += place[j] * f.batch[j].other;
    for (const IndexForm::Window &w : f.window) {
      p.axes[static_cast<size_t>(w.dim)].count = w.count;
      p.axes[static_cast<size_t>(w.dim)].stride = w.other;
    }
    append(out, std::move(p), along);
  });
  return out.size() > kMostPieces ? std::nullopt : std::optional(std::move(out));
}

} // namespace glia::emit
