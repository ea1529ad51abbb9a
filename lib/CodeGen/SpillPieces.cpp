#include "SpillPieces.h"

#include <algorithm>

namespace glia::codegen {

namespace {

constexpr size_t kMostPieces = 16, kMostWrites = 256;

// Widens [lo, hi) by what the registers in the address may add. A register that is not the iterator of a loop with a known count may
// hold anything: then the whole extent.
void widen(int64_t &lo, int64_t &hi, int64_t extent, nisa::TensorOperand::Term term) {
  auto iterator = llvm::dyn_cast<mlir::BlockArgument>(term.reg);
  auto loop = iterator ? llvm::dyn_cast<nisa::LoopOp>(iterator.getOwner()->getParentOp()) : nisa::LoopOp();
  if (!loop || !loop.getCount()) {
    lo = 0, hi = extent;
    return;
  }
  const int64_t by = term.scale * std::max<int64_t>(static_cast<int32_t>(*loop.getCount()) - 1, 0);
  (by < 0 ? lo : hi) += by;
  lo = std::max<int64_t>(lo, 0), hi = std::min(hi, extent);
}

// Every loop between the instruction and the block runs.
bool always(mlir::Operation *op, mlir::Block *block) {
  for (; op->getBlock() != block; op = op->getParentOp())
    if (auto loop = llvm::dyn_cast<nisa::LoopOp>(op->getParentOp());
        !loop || !loop.getCount() || static_cast<int32_t>(*loop.getCount()) < 1)
      return false;
  return true;
}

// Cuts the tensor along the borders of all writes and joins neighbours that are written. False if one may be, and may be not.
bool cut(const std::vector<Write> &writes, std::vector<Rect> &out) {
  std::vector<int64_t> rows, columns;
  for (const Write &w : writes) {
    if (w.strided)
      continue;
    rows.insert(rows.end(), {w.where.first, w.where.last});
    columns.insert(columns.end(), {w.where.lo, w.where.hi});
  }
  for (auto *edges : {&rows, &columns}) {
    std::sort(edges->begin(), edges->end());
    edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
  }
  std::vector<Rect> open; // of the row of cells above
  for (size_t y = 0; y + 1 < rows.size(); ++y) {
    std::vector<Rect> runs;
    for (size_t x = 0; x + 1 < columns.size(); ++x) {
      const Rect cell{rows[y], rows[y + 1], columns[x], columns[x + 1]};
      bool sure = false, unsure = false;
      for (const Write &w : writes)
        if (!w.strided && w.where.contains(cell))
          (w.sure ? sure : unsure) = true;
      if (!sure && unsure)
        return false;
      if (!sure)
        continue;
      if (!runs.empty() && runs.back().hi == cell.lo)
        runs.back().hi = cell.hi;
      else
        runs.push_back(cell);
    }
    for (const Rect &above : open) {
      auto same = std::find_if(runs.begin(), runs.end(),
                               [&](const Rect &r) { return r.lo == above.lo && r.hi == above.hi && r.first == above.last; });
      if (same == runs.end())
        out.push_back(above);
      else
        same->first = above.first;
    }
    open = std::move(runs);
  }
  out.insert(out.end(), open.begin(), open.end());
  return true;
}

} // namespace

Rect wholeOf(nisa::AllocOp op) {
  const nisa::TensorType type = op.getTensor().getType();
  Rect whole{0, type.getShape()[0], 0, sizeOf(type.getDtype())};
  for (int64_t d : type.getShape().drop_front())
    whole.hi *= d;
  return whole;
}

Write writeOf(nisa::Instr i, int slot, nisa::AllocOp op) {
  const Rect whole = wholeOf(op);
  const nisa::AccessAttr a = i.access(slot);
  const nisa::TensorOperand view = i.value(slot).tensor;
  const int index = i.def().slot(std::string(i.def().slots[slot].name) + "_index");
  if (index >= 0 && i.access(index))
    return {whole, false, false, {}}; // rows that an index chooses
  const int64_t size = sizeOf(a.getDtype());
  Rect r{view.partition, view.partition + view.partitions, a.getByteOffset(), a.getByteOffset() + size};
  for (size_t k = 0; k < a.getDims().size(); k += 2) {
    const int64_t reach = a.getDims()[k] * (a.getDims()[k + 1] - 1) * size;
    (reach < 0 ? r.lo : r.hi) += reach;
  }
  for (const nisa::TensorOperand::Term &t : view.terms)
    t.partition ? widen(r.first, r.last, whole.last, t) : widen(r.lo, r.hi, whole.hi, t);
  const bool fixed = view.terms.empty() && always(i.operation(), op->getBlock()), dense = a.pattern().contiguous();
  return {r, fixed && dense, fixed && !dense, view};
}

nisa::TensorOperand viewOf(const Rect &r, mlir::Value tensor, DType type) {
  for (DType t : {type, DType::U32, DType::U16, DType::U8})
    if (r.lo % sizeOf(t) == 0 && r.hi % sizeOf(t) == 0) {
      type = t;
      break;
    }
  nisa::TensorOperand v;
  v.tensor = tensor;
  v.dtype = type;
  v.partition = static_cast<int32_t>(r.first);
  v.partitions = static_cast<int32_t>(r.last - r.first);
  v.byteOffset = r.lo;
  v.dims = {1, (r.hi - r.lo) / sizeOf(type)};
  return v;
}

void Written::add(Write w) {
  if (w.sure) { // what it replaces does not matter any more
    std::erase_if(writes, [&](const Write &old) { return w.where.contains(old.where); });
    many = many && !w.where.contains(wholeOf(op));
  }
  if (many ||
      std::any_of(writes.begin(), writes.end(), [&](const Write &old) { return old.sure && old.where.contains(w.where); }))
    return;
  writes.push_back(std::move(w));
  many = writes.size() > kMostWrites;
}

std::optional<std::vector<nisa::TensorOperand>> Written::pieces(const Target &target) const {
  if (many)
    return std::nullopt;
  std::vector<nisa::TensorOperand> out;
  const auto most = static_cast<size_t>(target.integer("dma.max_dims"));
  for (const Write &w : writes)
    if (w.strided) {
      if (w.view.dims.size() / 2 + 1 > most)
        return std::nullopt;
      out.push_back(w.view);
    }
  std::vector<Rect> rects;
  if (!cut(writes, rects) || out.size() + rects.size() > kMostPieces)
    return std::nullopt;
  for (const Rect &r : rects)
    out.push_back(viewOf(r, op.getTensor(), op.getTensor().getType().getDtype()));
  return out;
}

} // namespace glia::codegen
