#include "SpillTensor.h"
#include "SpillPieces.h"
#include "glia/Support/Diagnostic.h"

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

} // namespace

bool spillTensor(nisa::CoreOp core, const std::vector<Lifetime> &live, uint32_t place, const Target &target) {
  const Lifetime *best = nullptr;
  Gap bestGap;
  for (const Lifetime &l : live) {
    if (l.from > place || l.to <= place || l.pinned)
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
  const std::vector<nisa::TensorOperand> pieces = piecesToMove(op, bestGap.last, target);
  std::vector<nisa::SlotValue> outside;
  for (const nisa::TensorOperand &p : pieces) {
    int64_t elements = 1;
    for (size_t k = 1; k < p.dims.size(); k += 2)
      elements *= p.dims[k];
    const auto inHbm = nisa::TensorType::get(b.getContext(), Space::Hbm, p.dtype, {p.partitions, elements});
    const std::string name = pieces.size() == 1 ? label : format("%s.%zu", label.c_str(), outside.size());
    auto store = nisa::TensorOp::create(b, op.getLoc(), name, "scratch", inHbm, /*isPrivate=*/true);
    outside.push_back(nisa::SlotValue::of(nisa::wholeTensor(store.getTensor())));
  }
  b.setInsertionPointAfter(bestGap.last);
  for (size_t k = 0; k < pieces.size(); ++k)
    nisa::createInstruction(b, bestGap.last->getLoc(), copy, {outside[k], nisa::SlotValue::of(pieces[k])}, Engine::Sync);
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
    nisa::TensorOperand back = pieces[k];
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
