#include "SpillStore.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::codegen {

bool sameBytes(const Views &a, const Views &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
    return x.dtype == y.dtype && x.partition == y.partition && x.partitions == y.partitions &&
           x.byteOffset == y.byteOffset && x.dims == y.dims;
  });
}

void addWrites(Written &written, mlir::OpOperand &operand, nisa::AllocOp alloc) {
  const nisa::Instr i(operand.getOwner());
  for (size_t s = 0; s < i.def().slots.size(); ++s) {
    const int slot = static_cast<int>(s);
    const nisa::AccessAttr a = i.access(slot);
    if (a && a.getBase() == operand.getOperandNumber() && i.writes(slot))
      written.add(writeOf(i, slot, alloc));
  }
}

static nisa::TensorOperand in(nisa::AllocOp holder, nisa::TensorOperand view) {
  view.tensor = holder.getTensor();
  return view;
}

nisa::AllocOp SpillStore::another(mlir::Operation *before) {
  b.setInsertionPoint(before);
  return nisa::AllocOp::create(b, alloc.getLoc(), alloc.getTensor().getType(),
                               b.getStringAttr(alloc.getLabel().str() + ".back"), mlir::DenseI64ArrayAttr(),
                               mlir::UnitAttr(), mlir::DenseI64ArrayAttr());
}

void SpillStore::zero(nisa::AllocOp holder, mlir::Operation *before) {
  constexpr int64_t kStep = 64 * 1024; // bytes of an instruction
  const Rect whole = wholeOf(holder);
  b.setInsertionPoint(before);
  for (int64_t lo = 0, hi; lo < whole.hi; lo = hi) {
    hi = std::min(lo + kStep, whole.hi - lo >= 4 ? whole.hi / 4 * 4 : whole.hi);
    nisa::createInstruction(b, alloc.getLoc(), *findInstruction("memset"),
                            {nisa::SlotValue::of(viewOf({whole.first, whole.last, lo, hi}, holder.getTensor(), DType::U32)),
                             nisa::SlotValue::of(0.0f)},
                            Engine::Vector);
  }
}

void SpillStore::copy(mlir::Location loc, nisa::TensorOperand dst, nisa::TensorOperand src) {
  nisa::createInstruction(b, loc, *findInstruction("dma_copy"),
                          {nisa::SlotValue::of(std::move(dst)), nisa::SlotValue::of(std::move(src))}, Engine::Sync);
}

void SpillStore::store(nisa::AllocOp holder, const Views &pieces, mlir::Operation *after) {
  if (outside.empty() || !sameBytes(pieces, kept)) {
    outside.clear();
    b.setInsertionPoint(core);
    const std::string name = stores++ ? format("%s.%d", label.c_str(), stores) : label;
    for (const nisa::TensorOperand &p : pieces) {
      int64_t elements = 1;
      for (size_t k = 1; k < p.dims.size(); k += 2)
        elements *= p.dims[k];
      auto hbm = nisa::TensorOp::create(
          b, alloc.getLoc(), pieces.size() == 1 ? name : format("%s.p%zu", name.c_str(), outside.size()), "scratch",
          nisa::TensorType::get(b.getContext(), Space::Hbm, p.dtype, {p.partitions, elements}), /*isPrivate=*/true);
      outside.push_back(nisa::wholeTensor(hbm.getTensor()));
    }
    kept = pieces;
  }
  b.setInsertionPointAfter(after);
  for (size_t k = 0; k < kept.size(); ++k)
    copy(after->getLoc(), outside[k], in(holder, kept[k]));
}

void SpillStore::load(nisa::AllocOp holder, mlir::Operation *before) {
  b.setInsertionPoint(before);
  for (size_t k = 0; k < kept.size(); ++k)
    copy(before->getLoc(), in(holder, kept[k]), outside[k]);
}

void SpillStore::repeat(nisa::AllocOp holder, mlir::Operation *op, mlir::Operation *before) {
  const nisa::Instr i(op);
  std::vector<nisa::SlotValue> values;
  for (size_t k = 0; k < i.def().slots.size(); ++k)
    values.push_back(i.value(static_cast<int>(k)));
  values[0].tensor = in(holder, values[0].tensor);
  b.setInsertionPoint(before);
  nisa::createInstruction(b, op->getLoc(), i.def(), values, i.engine());
}

SpillNotes::SpillNotes(nisa::KernelOp kernel) : kernel(kernel) {
  if (auto old = kernel->getAttrOfType<mlir::ArrayAttr>("spills"))
    notes.append(old.begin(), old.end());
}

std::string SpillNotes::label(const Lifetime &l) const {
  return format("%s.spill%zu", l.op.getLabel().str().c_str(), notes.size());
}

void SpillNotes::add(const Lifetime &l, const std::string &more) {
  const nisa::Origin o = nisa::originOf(l.op.getLoc());
  const std::string where = o.line ? format(" (%s:%u)", o.file.c_str(), o.line) : "";
  notes.push_back(
      mlir::StringAttr::get(kernel.getContext(), format("`%s`, %lld bytes per partition%s%s", l.op.getLabel().str().c_str(),
                                                        (long long)l.bytes, where.c_str(), more.c_str())));
}

void SpillNotes::write() {
  if (!notes.empty())
    kernel->setAttr("spills", mlir::ArrayAttr::get(kernel.getContext(), notes));
}

} // namespace glia::codegen
