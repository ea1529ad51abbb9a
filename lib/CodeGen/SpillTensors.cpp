#include "SpillTensors.h"
#include "SpillStore.h"
#include "glia/Support/Diagnostic.h"

namespace glia::codegen {

namespace {

// One tensor with more than one stay.
class Spill {
public:
  Spill(nisa::CoreOp core, const PlannedTensor &t, const Target &target, std::string label)
      : t(t), target(target), alloc(t.life.op), store(core, alloc, std::move(label)) {}

  template <class Made> void run(Made &&made) {
    findPieces();
    if (fill)
      store.zero(alloc, t.uses[0].op);
    nisa::AllocOp holder = alloc;
    size_t operand = 0;
    bool stored = false; // HBM holds what it holds
    for (size_t k = 1; k < t.stays.size(); ++k) {
      const uint32_t from = t.stays[k - 1].first, to = t.stays[k].first;
      for (uint32_t u = from; u < to; ++u)
        stored = stored && !t.uses[u].writes;
      const bool replaced = t.uses[to].replaces, unchanged = t.unchanged(to - 1);
      if (!replaced && !unchanged && !stored) {
        store.store(holder, gaps[k - 1], t.uses[to - 1].op);
        stored = true;
      }
      mlir::Operation *next = t.uses[to].op;
      holder = store.another(next);
      made(holder, t.stays[k].byte);
      if (!replaced && unchanged)
        makeAgain(holder, to);
      else if (!replaced)
        store.load(holder, next);
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
  nisa::AllocOp alloc;
  SpillStore store;
  std::vector<Views> gaps; // what is moved after each stay
  bool fill = false;       // all of it is defined from its beginning

  // Before anything changes: what is written up to the end of each stay.
  void findPieces() {
    Written written(alloc);
    size_t operand = 0;
    for (size_t k = 1; k < t.stays.size(); ++k) {
      for (; operand < t.operands.size() && t.operands[operand].second < t.stays[k].first; ++operand)
        addWrites(written, *t.operands[operand].first, alloc);
      std::optional<Views> pieces = written.pieces(target);
      fill |= !pieces;
      gaps.push_back(pieces ? std::move(*pieces) : Views());
    }
    if (fill)
      gaps.assign(gaps.size(), {nisa::wholeTensor(alloc.getTensor())});
  }

  // What made it before use `to`, once more.
  void makeAgain(nisa::AllocOp holder, uint32_t to) {
    if (fill)
      store.zero(holder, t.uses[to].op);
    for (const auto &[op, use] : t.sources)
      if (use < to)
        store.repeat(holder, op, t.uses[to].op);
  }
};

} // namespace

llvm::DenseMap<mlir::Operation *, int64_t> spillTensors(nisa::CoreOp core, const std::vector<PlannedTensor> &plan,
                                                        const Target &target) {
  SpillNotes notes(core->getParentOfType<nisa::KernelOp>());
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
    Spill(core, t, target, notes.label(t.life)).run([&](nisa::AllocOp made, int64_t byte) { at[made] = byte; });
    const size_t times = t.stays.size() - 1;
    notes.add(t.life, times > 1 ? format(", %zu times", times) : "");
  }
  notes.write();
  return at;
}

} // namespace glia::codegen
