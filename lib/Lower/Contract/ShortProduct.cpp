#include "ShortProduct.h"
#include "ContractPlan.h"
#include "TurnedBlocks.h"

#include <algorithm>

namespace glia::emit {

namespace {

constexpr int64_t kNarrow = 256; // columns of which several blocks are one

bool isPlain(graph::DotGeneralOp op) {
  const auto n = op.getDotDimensionNumbers();
  return n.getLhsBatchingDimensions().empty() && n.getLhsContractingDimensions().size() == 1;
}

// As in every contraction: fp32 with fp32, what is narrower with each other.
DType typeOnChip(graph::DotGeneralOp op, mlir::Value v) {
  const bool wide = llvm::any_of(op->getOperands(), [](mlir::Value o) { return heldType(o) == DType::F32; });
  return wide ? DType::F32 : heldType(v);
}

} // namespace

bool isShortProduct(mlir::Operation *op, mlir::Value root) {
  auto dot = llvm::dyn_cast<graph::DotGeneralOp>(op);
  auto other = llvm::dyn_cast_if_present<graph::DotGeneralOp>(root.getDefiningOp());
  if (!dot || !other || shapeOf(dot->getResult(0)) != shapeOf(root) ||
      llvm::any_of(dot->getOperands(), [](mlir::Value v) { return splatOf(v) || sizeOf(heldType(v)) == 1; }))
    return false;
  if (!isPlain(dot) || !isPlain(other))
    return false;
  const DotSizes a = sizesOf(dot), b = sizesOf(other);
  return a.rowDims == b.rowDims && a.contract > 0 && a.contract <= kContract && a.contract < b.contract &&
         b.rows > kNarrow && b.columns > kNarrow && productsOf(b.rows, b.columns, b.contract) <= kMostProducts;
}

int64_t shortProductBytes(graph::DotGeneralOp op) {
  const DotSizes s = sizesOf(op);
  return (s.rows + s.columns) * sizeOf(typeOnChip(op, op->getOperand(0)));
}

ShortProduct::ShortProduct(graph::DotGeneralOp op, const Tile &lhs, const Tile &rhs) : op(op) {
  const auto n = op.getDotDimensionNumbers();
  size_t d = 0;
  for (const size_t side : {0, 1}) {
    PanelSource &s = sources[side];
    s.tensor = side ? rhs : lhs;
    s.type = typeOnChip(op, op->getOperand(static_cast<unsigned>(side)));
    along[side].assign(shapeOf(op->getResult(0)).size(), 0);
    const auto contracted =
        static_cast<size_t>((side ? n.getRhsContractingDimensions() : n.getLhsContractingDimensions())[0]);
    for (size_t i = 0; i < s.tensor.dims.size(); ++i)
      if (i == contracted)
        s.contract = {s.tensor.dims[i]};
      else
        along[side][d++] = s.tensor.dims[i].stride;
  }
}

Tile ShortProduct::load(KernelBuilder &k, size_t side, const Dims &free) {
  PanelSource s = sources[side];
  s.free = free;
  s.byBytes = turnsOnChip(k.target(), s) && turnsBytes(k.target(), s.type);
  prepareTurning(k, s);
  const int64_t n = countOf(free);
  const Tile out = panelTile(k, s, 1, 1, n);
  for (int64_t x = 0; x < n; x += kColumnBlock) {
    const int64_t here = std::min(kColumnBlock, n - x);
    fillPanel(k, out.part(2, x, here), s, 0, 1, 0, 1, x, here);
  }
  return out.index(0, 0).index(0, 0);
}

Tile ShortProduct::block(KernelBuilder &k, const Block &b, int64_t rows, int64_t columns) {
  const size_t rowDims = sizesOf(op).rowDims;
  const size_t left = !b.rows.empty() && static_cast<size_t>(b.rows[0].dim) >= rowDims ? 1 : 0; // whose rows they are
  const std::vector<Loop> *loops[2] = {left ? &b.columns : &b.rows, left ? &b.rows : &b.columns};
  for (const size_t side : {0, 1})
    if (!panels[side]) {
      Dims free;
      for (const Loop &l : *loops[side])
        free.push_back({along[side][static_cast<size_t>(l.dim)] * l.step, l.count});
      panels[side] = load(k, side, merged(free));
    }
  const Tile sum = k.psum(rows, {columns});
  k.matmul(sum, panels[left]->part(0, b.row, rows), panels[1 - left]->part(0, b.column, columns), false);
  return sum;
}

} // namespace glia::emit
