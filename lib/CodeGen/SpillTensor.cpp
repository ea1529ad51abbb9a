#include "SpillTensor.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::codegen {

namespace {

// On what brings a tensor back: right behind it the tensor is not spilled again, or two that are needed together would take turns
// for ever.
constexpr llvm::StringLiteral kReload = "reload";

struct Gap {
  mlir::Operation *last = nullptr, *next = nullptr; // in the block of the allocation
  uint32_t length = 0;
};

// The stretch around `place` in which nothing uses the tensor. Places are numbered as in lifetimesOf.
Gap gapAround(nisa::CoreOp core, nisa::AllocOp op, uint32_t place) {
  Gap gap;
  mlir::Block *home = op->getBlock();
  if (home != &core.getBody().front())
    return gap; // inside a loop everything is needed again
  uint32_t at = 0, lastPlace = 0;
  auto numberOf = [](mlir::Operation &o) {
    uint32_t n = 0;
    o.walk([&](mlir::Operation *) { n += 2; });
    return n;
  };
  for (mlir::Operation &o : *home) {
    const uint32_t begin = at;
    at += numberOf(o);
    bool uses = false;
    o.walk([&](mlir::Operation *inner) { uses |= llvm::is_contained(inner->getOperands(), op.getTensor()); });
    if (!uses)
      continue;
    if (at <= place) {
      gap.last = &o;
      lastPlace = at;
    } else {
      if (begin > place && gap.last && !gap.last->hasAttr(kReload)) {
        gap.next = &o;
        gap.length = begin - lastPlace;
      }
      break;
    }
  }
  return gap;
}

// A part of a tensor that is moved by one transfer.
struct Piece {
  nisa::TensorOperand view;
  int64_t lo = 0, hi = 0; // bytes of a partition
  bool dense = false, fixed = true;
  bool covers(const Piece &o) const {
    return dense && view.partition <= o.view.partition &&
           view.partition + view.partitions >= o.view.partition + o.view.partitions && lo <= o.lo && hi >= o.hi;
  }
};

Piece pieceOf(nisa::Instr i, int slot, const Piece &whole) {
  const nisa::AccessAttr a = i.access(slot);
  if (!a.getTerms().empty()) {
    Piece p = whole;
    p.dense = p.fixed = false; // somewhere
    return p;
  }
  Piece p;
  p.view = i.value(slot).tensor;
  const int64_t size = sizeOf(a.getDtype());
  p.lo = a.getByteOffset();
  p.hi = p.lo + size;
  for (size_t k = 0; k < a.getDims().size(); k += 2) {
    const int64_t reach = a.getDims()[k] * (a.getDims()[k + 1] - 1) * size;
    (reach < 0 ? p.lo : p.hi) += reach;
  }
  p.dense = a.pattern().contiguous();
  return p;
}

// What was written of the tensor up to `last`. Bytes that nobody wrote are not moved: they would make the whole transfer
// undefined.
std::vector<Piece> writtenPieces(nisa::AllocOp op, mlir::Operation *last, const Target &target) {
  Piece whole;
  whole.view = nisa::wholeTensor(op.getTensor());
  whole.hi = sizeOf(whole.view.dtype);
  for (int64_t d : op.getTensor().getType().getShape().drop_front())
    whole.hi *= d;
  whole.dense = true;
  std::vector<Piece> pieces;
  auto add = [&](const Piece &p) {
    if (std::any_of(pieces.begin(), pieces.end(), [&](const Piece &o) { return o.covers(p); }))
      return;
    std::erase_if(pieces, [&](const Piece &o) { return p.covers(o); });
    pieces.push_back(p);
  };
  std::vector<std::pair<mlir::Operation *, int>> writes;
  op->getBlock()->walk([&](mlir::Operation *o) { // in program order
    nisa::Instr i{o};
    for (size_t k = 0; i && k < i.def().slots.size(); ++k)
      if (i.tensor(static_cast<int>(k)) == op.getTensor() && i.writes(static_cast<int>(k)))
        writes.push_back({o, static_cast<int>(k)});
  });
  for (const auto &[o, slot] : writes) {
    mlir::Operation *at = op->getBlock()->findAncestorOpInBlock(*o);
    if (at == last || at->isBeforeInBlock(last))
      add(pieceOf(nisa::Instr(o), slot, whole));
  }
  constexpr size_t kMostPieces = 8;
  const auto most = static_cast<size_t>(target.integer("dma.max_dims"));
  const bool simple = !pieces.empty() && pieces.size() <= kMostPieces &&
                      std::all_of(pieces.begin(), pieces.end(),
                                  [&](const Piece &p) { return p.fixed && p.view.dims.size() / 2 + 1 <= most; });
  return simple ? pieces : std::vector<Piece>{whole};
}

} // namespace

bool spillTensor(nisa::CoreOp core, const std::vector<Lifetime> &live, uint32_t place, const Target &target) {
  const Lifetime *best = nullptr;
  Gap bestGap;
  for (const Lifetime &l : live) {
    if (l.from > place || l.to <= place || l.op.getPinned())
      continue;
    const Gap gap = gapAround(core, l.op, place);
    if (gap.next && gap.length >= 2 &&
        (!best || gap.length > bestGap.length || (gap.length == bestGap.length && l.bytes > best->bytes))) {
      best = &l;
      bestGap = gap;
    }
  }
  if (!best)
    return false;
  auto kernel = core->getParentOfType<nisa::KernelOp>();
  nisa::AllocOp op = best->op;
  const nisa::TensorType type = op.getTensor().getType();
  auto old = kernel->getAttrOfType<mlir::ArrayAttr>("spills");
  llvm::SmallVector<mlir::Attribute> notes;
  if (old)
    notes.append(old.begin(), old.end());

  mlir::OpBuilder b(core);
  const std::string label = format("%s.spill%zu", op.getLabel().str().c_str(), notes.size());
  const InstrDef &copy = *findInstruction("dma_copy");
  const std::vector<Piece> pieces = writtenPieces(op, bestGap.last, target);
  std::vector<nisa::SlotValue> outside;
  for (const Piece &p : pieces) {
    int64_t elements = 1;
    for (size_t k = 1; k < p.view.dims.size(); k += 2)
      elements *= p.view.dims[k];
    const auto inHbm = nisa::TensorType::get(b.getContext(), Space::Hbm, p.view.dtype, {p.view.partitions, elements});
    const std::string name = pieces.size() == 1 ? label : format("%s.%zu", label.c_str(), outside.size());
    auto store = nisa::TensorOp::create(b, op.getLoc(), name, "scratch", inHbm, /*isPrivate=*/true);
    outside.push_back(nisa::SlotValue::of(nisa::wholeTensor(store.getTensor())));
  }
  b.setInsertionPointAfter(bestGap.last);
  for (size_t k = 0; k < pieces.size(); ++k)
    nisa::createInstruction(b, bestGap.last->getLoc(), copy, {outside[k], nisa::SlotValue::of(pieces[k].view)},
                            Engine::Sync);
  b.setInsertionPoint(bestGap.next);
  auto again = nisa::AllocOp::create(b, op.getLoc(), type, b.getStringAttr(op.getLabel().str() + ".back"),
                                     mlir::DenseI64ArrayAttr(), mlir::UnitAttr(), mlir::DenseI64ArrayAttr());
  // From the next use on, the new one.
  for (mlir::OpOperand &use : llvm::make_early_inc_range(op.getTensor().getUses())) {
    mlir::Operation *at = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
    if (at == bestGap.next || bestGap.next->isBeforeInBlock(at))
      use.set(again.getTensor());
  }
  for (size_t k = 0; k < pieces.size(); ++k) {
    nisa::TensorOperand back = pieces[k].view;
    back.tensor = again.getTensor();
    nisa::createInstruction(b, bestGap.next->getLoc(), copy, {nisa::SlotValue::of(std::move(back)), outside[k]},
                            Engine::Sync)
        ->setAttr(kReload, b.getUnitAttr());
  }
  const nisa::Origin o = nisa::originOf(op.getLoc());
  notes.push_back(
      b.getStringAttr(format("`%s`, %lld bytes per partition%s", op.getLabel().str().c_str(), (long long)best->bytes,
                             o.line ? format(" (%s:%u)", o.file.c_str(), o.line).c_str() : "")));
  kernel->setAttr("spills", b.getArrayAttr(notes));
  return true;
}

} // namespace glia::codegen
