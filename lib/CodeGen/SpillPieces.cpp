#include "SpillPieces.h"

#include <algorithm>

namespace glia::codegen {

namespace {

constexpr size_t kFewPieces = 8, kMostPieces = 16;
constexpr size_t kExactWrites = 64, kMostWrites = 256; // that are told apart; that are looked at

struct Rect { // partitions [first, last), bytes [lo, hi) of each
  int64_t first = 0, last = 0, lo = 0, hi = 0;
  bool contains(const Rect &o) const { return first <= o.first && last >= o.last && lo <= o.lo && hi >= o.hi; }
  friend bool operator==(const Rect &, const Rect &) = default;
};

struct Write {
  Rect where;
  bool sure = false;    // happens, and to all of the rectangle
  bool strided = false; // fixed, and to a part of the rectangle: `view`
  nisa::TensorOperand view;
};

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

Write writeOf(nisa::Instr i, int slot, const Rect &whole, mlir::Block *home) {
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
  const bool fixed = view.terms.empty() && always(i.operation(), home), dense = a.pattern().contiguous();
  return {r, fixed && dense, fixed && !dense, view};
}

std::vector<Write> writesUpTo(nisa::AllocOp op, mlir::Operation *last, const Rect &whole) {
  std::vector<Write> out;
  mlir::Block *home = op->getBlock();
  home->walk([&](mlir::Operation *o) { // in program order
    nisa::Instr i{o};
    for (size_t k = 0; i && k < i.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (i.tensor(slot) != op.getTensor() || !i.writes(slot))
        continue;
      mlir::Operation *at = home->findAncestorOpInBlock(*o);
      if (at != last && !at->isBeforeInBlock(last))
        continue;
      Write w = writeOf(i, slot, whole, home);
      if (w.sure) // what it replaces does not matter any more
        std::erase_if(out, [&](const Write &old) { return w.where.contains(old.where); });
      if (std::none_of(out.begin(), out.end(), [&](const Write &old) {
            return old.where == w.where && old.sure == w.sure && !old.strided && !w.strided;
          }))
        out.push_back(std::move(w));
    }
  });
  return out;
}

// Cuts the tensor along the borders of all writes and joins neighbours that the same writes reach (`exact`), or that some write
// surely reaches. Rectangles that something surely wrote come last: they are brought back over what is less sure.
struct Cut {
  std::vector<Rect> unsure, sure;
};

Cut cut(const std::vector<Write> &writes, bool exact) {
  std::vector<int64_t> rows, columns;
  for (const Write &w : writes) {
    rows.insert(rows.end(), {w.where.first, w.where.last});
    columns.insert(columns.end(), {w.where.lo, w.where.hi});
  }
  for (auto *edges : {&rows, &columns}) {
    std::sort(edges->begin(), edges->end());
    edges->erase(std::unique(edges->begin(), edges->end()), edges->end());
  }
  Cut out;
  struct Run {
    Rect rect;
    uint64_t who;
    bool sure;
  };
  std::vector<Run> open; // of the row of cells above
  auto close = [&](const Run &r) { (r.sure ? out.sure : out.unsure).push_back(r.rect); };
  for (size_t y = 0; y + 1 < rows.size(); ++y) {
    std::vector<Run> runs;
    for (size_t x = 0; x + 1 < columns.size(); ++x) {
      Run cell{{rows[y], rows[y + 1], columns[x], columns[x + 1]}, 0, false};
      bool solid = false; // reached by more than single elements
      for (size_t k = 0; k < writes.size(); ++k)
        if (writes[k].where.contains(cell.rect)) {
          cell.sure |= writes[k].sure;
          solid |= !writes[k].strided;
          if (exact)
            cell.who |= uint64_t{1} << k;
        }
      if (!solid)
        continue;
      if (!runs.empty() && runs.back().rect.hi == cell.rect.lo && runs.back().who == cell.who &&
          runs.back().sure == cell.sure)
        runs.back().rect.hi = cell.rect.hi;
      else
        runs.push_back(cell);
    }
    for (const Run &above : open) {
      auto same = std::find_if(runs.begin(), runs.end(), [&](const Run &r) {
        return r.rect.lo == above.rect.lo && r.rect.hi == above.rect.hi && r.who == above.who && r.sure == above.sure &&
               r.rect.first == above.rect.last;
      });
      if (same == runs.end())
        close(above);
      else
        same->rect.first = above.rect.first;
    }
    open = std::move(runs);
  }
  for (const Run &r : open)
    close(r);
  return out;
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

} // namespace

std::vector<nisa::TensorOperand> piecesToMove(nisa::AllocOp op, mlir::Operation *last, const Target &target) {
  const nisa::TensorType type = op.getTensor().getType();
  Rect whole{0, type.getShape()[0], 0, sizeOf(type.getDtype())};
  for (int64_t d : type.getShape().drop_front())
    whole.hi *= d;
  std::vector<nisa::TensorOperand> all = {nisa::wholeTensor(op.getTensor())};
  const std::vector<Write> writes = writesUpTo(op, last, whole);
  if (writes.empty() || writes.size() > kMostWrites)
    return all;

  std::vector<nisa::TensorOperand> strided;
  for (const Write &w : writes)
    if (w.strided &&
        std::none_of(writes.begin(), writes.end(), [&](const Write &o) { return o.sure && o.where.contains(w.where); }))
      strided.push_back(w.view);
  const auto most = static_cast<size_t>(target.integer("dma.max_dims"));
  if (std::any_of(strided.begin(), strided.end(), [&](const auto &v) { return v.dims.size() / 2 + 1 > most; }))
    return all;

  for (const bool exact : {true, false}) {
    if (exact && writes.size() > kExactWrites)
      continue;
    const Cut rects = cut(writes, exact);
    const size_t n = rects.sure.size() + rects.unsure.size() + strided.size();
    if (n > (exact ? kFewPieces : kMostPieces))
      continue;
    std::vector<nisa::TensorOperand> out;
    for (const Rect &r : rects.unsure)
      out.push_back(viewOf(r, op.getTensor(), type.getDtype()));
    out.insert(out.end(), strided.begin(), strided.end());
    for (const Rect &r : rects.sure)
      out.push_back(viewOf(r, op.getTensor(), type.getDtype()));
    return out;
  }
  return all;
}

} // namespace glia::codegen
