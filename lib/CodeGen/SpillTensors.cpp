#include "SpillTensors.h"
#include "SpillPieces.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia::codegen {

namespace {

using Views = std::vector<nisa::TensorOperand>;

bool sameBytes(const Views &a, const Views &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto &x, const auto &y) {
    return x.dtype == y.dtype && x.partition == y.partition && x.partitions == y.partitions &&
           x.byteOffset == y.byteOffset && x.dims == y.dims;
  });
}

// One tensor with more than one stay.
class Spill {
public:
  Spill(nisa::CoreOp core, const PlannedTensor &t, const Target &target, std::string label)
      : t(t), target(target), label(std::move(label)), b(core), core(core), alloc(t.life.op), holder(t.life.op) {}

  template <class Made> void run(Made &&made) {
    findPieces();
    if (fill) {
      b.setInsertionPoint(t.uses[0].op);
      zero(alloc.getTensor());
    }
    size_t operand = 0;
    bool stored = false; // HBM holds what it holds
    for (size_t k = 1; k < t.stays.size(); ++k) {
      const uint32_t from = t.stays[k - 1].first, to = t.stays[k].first;
      for (uint32_t u = from; u < to; ++u)
        stored = stored && !t.uses[u].writes;
      const bool replaced = t.uses[to].replaces, loaded = t.unchanged(to - 1);
      if (!replaced && !loaded && !stored) {
        store(gaps[k - 1], t.uses[to - 1].op);
        stored = true;
      }
      b.setInsertionPoint(t.uses[to].op);
      holder = nisa::AllocOp::create(b, alloc.getLoc(), alloc.getTensor().getType(),
                                     b.getStringAttr(alloc.getLabel().str() + ".back"), mlir::DenseI64ArrayAttr(),
                                     mlir::UnitAttr(), mlir::DenseI64ArrayAttr());
      made(holder, t.stays[k].byte);
      if (!replaced)
        loaded ? loadAgain(to) : bringBack(t.uses[to].op->getLoc());
      const uint32_t end = k + 1 < t.stays.size() ? t.stays[k + 1].first : UINT32_MAX;
      while (operand < t.operands.size() && t.operands[operand].second < to)
        ++operand;
      for (; operand < t.operands.size() && t.operands[operand].second < end; ++operand)
        t.operands[operand].first->set(holder.getTensor());
    }
  }

private:
  const PlannedTensor &t;
  const Target &target;
  const std::string label;
  mlir::OpBuilder b;
  nisa::CoreOp core;
  nisa::AllocOp alloc, holder; // the first one, and the present one
  std::vector<Views> gaps;     // what is moved after each stay
  bool fill = false;           // all of it is defined from its beginning
  Views outside;               // where it is kept
  Views kept;                  // what is kept there
  int stores = 0;

  // Before anything changes: what is written up to the end of each stay.
  void findPieces() {
    Written written(alloc);
    size_t operand = 0;
    for (size_t k = 1; k < t.stays.size(); ++k) {
      for (; operand < t.operands.size() && t.operands[operand].second < t.stays[k].first; ++operand) {
        const nisa::Instr i(t.operands[operand].first->getOwner());
        for (size_t s = 0; s < i.def().slots.size(); ++s) {
          const int slot = static_cast<int>(s);
          const nisa::AccessAttr a = i.access(slot);
          if (a && a.getBase() == t.operands[operand].first->getOperandNumber() && i.writes(slot))
            written.add(writeOf(i, slot, alloc));
        }
      }
      std::optional<Views> pieces = written.pieces(target);
      fill |= !pieces;
      gaps.push_back(pieces ? std::move(*pieces) : Views());
    }
    if (fill)
      gaps.assign(gaps.size(), {nisa::wholeTensor(alloc.getTensor())});
  }

  void zero(mlir::Value tensor) {
    constexpr int64_t kStep = 64 * 1024; // bytes of an instruction
    const Rect whole = wholeOf(alloc);
    for (int64_t lo = 0, hi; lo < whole.hi; lo = hi) {
      hi = std::min(lo + kStep, whole.hi - lo >= 4 ? whole.hi / 4 * 4 : whole.hi);
      nisa::createInstruction(
          b, alloc.getLoc(), *findInstruction("memset"),
          {nisa::SlotValue::of(viewOf({whole.first, whole.last, lo, hi}, tensor, DType::U32)), nisa::SlotValue::of(0.0f)},
          Engine::Vector);
    }
  }

  void copy(mlir::Location loc, nisa::TensorOperand dst, nisa::TensorOperand src) {
    nisa::createInstruction(b, loc, *findInstruction("dma_copy"),
                            {nisa::SlotValue::of(std::move(dst)), nisa::SlotValue::of(std::move(src))}, Engine::Sync);
  }

  void store(const Views &pieces, mlir::Operation *after) {
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
      copy(after->getLoc(), outside[k], in(kept[k]));
  }

  void bringBack(mlir::Location loc) {
    for (size_t k = 0; k < kept.size(); ++k)
      copy(loc, in(kept[k]), outside[k]);
  }

  // The transfers before use `to` that brought it, once more.
  void loadAgain(uint32_t to) {
    if (fill)
      zero(holder.getTensor());
    for (const auto &[op, use] : t.loads) {
      if (use >= to)
        break;
      const nisa::Instr i(op);
      std::vector<nisa::SlotValue> values;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        values.push_back(i.value(static_cast<int>(k)));
      values[0].tensor = in(values[0].tensor);
      nisa::createInstruction(b, op->getLoc(), i.def(), values, i.engine());
    }
  }

  nisa::TensorOperand in(nisa::TensorOperand view) {
    view.tensor = holder.getTensor();
    return view;
  }
};

} // namespace

llvm::DenseMap<mlir::Operation *, int64_t> spillTensors(nisa::CoreOp core, const std::vector<PlannedTensor> &plan,
                                                        const Target &target) {
  auto kernel = core->getParentOfType<nisa::KernelOp>();
  mlir::Builder b(core.getContext());
  llvm::SmallVector<mlir::Attribute> notes;
  if (auto old = kernel->getAttrOfType<mlir::ArrayAttr>("spills"))
    notes.append(old.begin(), old.end());
  llvm::DenseMap<mlir::Operation *, int64_t> at;
  for (const PlannedTensor &t : plan) {
    nisa::AllocOp op = t.life.op;
    if (t.uses.empty() && !t.life.pinned) {
      op.erase();
      continue;
    }
    at[op] = t.life.pinned ? (*op.getAt())[1] : t.stays[0].byte;
    if (t.stays.size() < 2)
      continue;
    Spill(core, t, target, format("%s.spill%zu", op.getLabel().str().c_str(), notes.size()))
        .run([&](nisa::AllocOp made, int64_t byte) { at[made] = byte; });
    const nisa::Origin o = nisa::originOf(op.getLoc());
    const size_t times = t.stays.size() - 1;
    notes.push_back(
        b.getStringAttr(format("`%s`, %lld bytes per partition%s%s", op.getLabel().str().c_str(), (long long)t.life.bytes,
                               o.line ? format(" (%s:%u)", o.file.c_str(), o.line).c_str() : "",
                               times > 1 ? format(", %zu times", times).c_str() : "")));
  }
  kernel->setAttr("spills", b.getArrayAttr(notes));
  return at;
}

} // namespace glia::codegen
