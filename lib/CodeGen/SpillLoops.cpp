#include "SpillLoops.h"
#include "SpillStore.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <map>

namespace glia::codegen {

namespace {

// One tensor, and those of its uses that are such loops.
class Outside {
public:
  Outside(nisa::CoreOp core, const PlannedTensor &t, const std::vector<uint32_t> &loops, const Target &target,
          std::string label)
      : t(t), loops(loops), target(target), alloc(t.life.op), store(core, alloc, std::move(label)) {}

  void run() {
    const bool fill = !findPieces();
    if (fill)
      store.zero(alloc, t.uses[0].op);
    nisa::AllocOp holder = alloc;
    bool stored = false, away = false; // HBM holds what it holds; only HBM does
    size_t operand = 0, next = 0;
    for (uint32_t u = 0; u < t.uses.size(); ++u) {
      const size_t first = operand;
      while (operand < t.operands.size() && t.operands[operand].second == u)
        ++operand;
      const llvm::ArrayRef<std::pair<mlir::OpOperand *, uint32_t>> operands(&t.operands[first], operand - first);
      if (next < loops.size() && loops[next] == u) {
        if (!stored && !away && (u > 0 || fill))
          store.store(holder, pieces[next], fill && u == 0 ? t.uses[0].op->getPrevNode() : t.uses[u - 1].op);
        insideLoop(operands, t.uses[u], pieces[next++]);
        away = stored = true;
        continue;
      }
      if (away) {
        holder = store.another(t.uses[u].op);
        store.load(holder, t.uses[u].op);
        away = false;
      }
      for (const auto &[o, use] : operands)
        o->set(holder.getTensor());
      stored = stored && !t.uses[u].writes;
    }
  }

private:
  const PlannedTensor &t;
  const std::vector<uint32_t> &loops;
  const Target &target;
  nisa::AllocOp alloc;
  SpillStore store;
  std::vector<Views> pieces; // of each loop

  // False if all of it has to be defined from its beginning: a loop writes what was not written before it, or it is not known what is.
  bool findPieces() {
    Written written(alloc);
    size_t operand = 0;
    bool good = true;
    auto upTo = [&](uint32_t use) {
      for (; operand < t.operands.size() && t.operands[operand].second < use; ++operand)
        addWrites(written, *t.operands[operand].first, alloc);
      return written.pieces(target);
    };
    for (uint32_t u : loops) {
      std::optional<Views> before = upTo(u);
      const std::optional<Views> after = upTo(u + 1);
      good = good && before && after && sameBytes(*before, *after);
      pieces.push_back(before ? std::move(*before) : Views());
    }
    if (!good)
      pieces.assign(loops.size(), {nisa::wholeTensor(alloc.getTensor())});
    return good;
  }

  void insideLoop(llvm::ArrayRef<std::pair<mlir::OpOperand *, uint32_t>> operands, const SpillUse &use, const Views &moved) {
    mlir::Block &body = use.op->getRegion(0).front();
    mlir::Operation *first = body.findAncestorOpInBlock(*operands.front().first->getOwner());
    mlir::Operation *last = body.findAncestorOpInBlock(*operands.back().first->getOwner());
    nisa::AllocOp here = store.another(first);
    store.load(here, first);
    for (const auto &[o, n] : operands)
      o->set(here.getTensor());
    if (use.writes)
      store.store(here, moved, last);
  }
};

} // namespace

bool spillInLoops(nisa::CoreOp core, const SpillPlan &plan, int round, const Target &target) {
  struct Candidate {
    std::pair<bool, int64_t> gain; // what addresses memory comes last; what is only read is not stored again
    uint32_t tensor, use;
    bool operator<(const Candidate &o) const {
      return gain != o.gain ? gain > o.gain : std::pair(tensor, use) < std::pair(o.tensor, o.use);
    }
  };
  llvm::DenseMap<mlir::Operation *, std::vector<Candidate>> candidates;
  for (mlir::Operation *loop : plan.crowded)
    candidates[loop];
  for (uint32_t n = 0; n < plan.tensors.size(); ++n) {
    const PlannedTensor &t = plan.tensors[n];
    for (uint32_t u = 0; u < t.uses.size() && !t.life.pinned && !t.life.kept; ++u)
      if (const auto it = candidates.find(t.uses[u].op); it != candidates.end())
        it->second.push_back({{!t.delicate, t.life.bytes * (t.uses[u].writes ? 1 : 2)}, n, u});
  }
  std::map<uint32_t, std::vector<uint32_t>> chosen; // tensor: uses
  const size_t many = size_t{1} << std::min(round, 20);
  for (mlir::Operation *loop : plan.crowded) {
    std::vector<Candidate> &all = candidates[loop];
    std::sort(all.begin(), all.end());
    for (size_t k = 0; k < all.size() && k < many; ++k)
      chosen[all[k].tensor].push_back(all[k].use);
  }
  SpillNotes notes(core->getParentOfType<nisa::KernelOp>());
  for (auto &[n, uses] : chosen) {
    const PlannedTensor &t = plan.tensors[n];
    std::sort(uses.begin(), uses.end());
    Outside(core, t, uses, target, notes.label(t.life)).run();
    notes.add(t.life, uses.size() > 1 ? format(", in %zu loops", uses.size()) : ", in a loop");
  }
  notes.write();
  return !chosen.empty();
}

} // namespace glia::codegen
