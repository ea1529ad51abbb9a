// The author may give two tensors addresses that share memory and use both. In a program bytes belong to one allocation, so such
// tensors become one, and the accesses move into it.
#include "Lifetimes.h"
#include "Transforms/InstrFacts.h"
#include "glia/CodeGen/Passes.h"

#include <algorithm>
#include <numeric>

namespace glia {

using namespace codegen;

namespace {

struct Box {
  int64_t p0, p1, b0, b1; // partitions, bytes
  bool meets(const Box &o) const { return p0 < o.p1 && o.p0 < p1 && b0 < o.b1 && o.b0 < b1; }
};

Box boxOf(const Lifetime &l) {
  nisa::AllocOp op = l.op;
  const int64_t p = (*op.getAt())[0], b = (*op.getAt())[1];
  return {p, p + l.partitions, b, b + l.bytes};
}

// Moves every access of `from` into `to`.
void rebase(nisa::AllocOp from, nisa::AllocOp to) {
  const int64_t partitions = (*from.getAt())[0] - (*to.getAt())[0], bytes = (*from.getAt())[1] - (*to.getAt())[1];
  for (mlir::OpOperand &use : llvm::make_early_inc_range(from.getTensor().getUses())) {
    nisa::Instr i(use.getOwner());
    const uint32_t number = use.getOperandNumber();
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      if (const nisa::AccessAttr a = i.access(static_cast<int>(k)); a && a.getBase() == number)
        i.setSlot(static_cast<int>(k),
                  nisa::AccessAttr::get(from.getContext(), number, a.getDtype(),
                                        a.getPartition() + static_cast<int32_t>(partitions), a.getPartitions(),
                                        a.getByteOffset() + bytes, a.getDims(), a.getTerms()));
    use.set(to.getTensor());
  }
}

// Its first use writes all of it, so that what lay there before is never seen.
bool startsAnew(const Lifetime &l) {
  nisa::AllocOp op = l.op;
  mlir::Operation *first = nullptr;
  for (mlir::Operation *user : op.getTensor().getUsers())
    if (mlir::Operation *at = op->getBlock()->findAncestorOpInBlock(*user); !first || at->isBeforeInBlock(first))
      first = at;
  if (!first)
    return true;
  const nisa::Instr i{first};
  if (!i) // a loop, which may not run
    return false;
  return nisa::writesAll(i, op.getTensor());
}

bool inLoop(const Lifetime &l) {
  nisa::AllocOp op = l.op;
  return !llvm::isa<nisa::CoreOp>(op->getParentOp());
}

void mergeSpace(std::vector<Lifetime> pinned) {
  // Groups that share memory while both live, or of which one may see what the other has left; closed under what the enclosing
  // box of a group then covers.
  std::vector<size_t> group(pinned.size());
  std::iota(group.begin(), group.end(), 0);
  std::vector<Box> box;
  std::vector<std::pair<uint32_t, uint32_t>> live;
  for (const Lifetime &l : pinned) {
    box.push_back(boxOf(l));
    live.push_back({l.from, std::max(l.to, l.from + 1)});
  }
  std::vector<bool> anew;
  for (const Lifetime &l : pinned)
    anew.push_back(startsAnew(l));
  auto sees = [&](size_t i, size_t j) { // pinned is in the order of first uses
    if (!boxOf(pinned[i]).meets(boxOf(pinned[j])))
      return false;
    return !anew[j] || (!anew[i] && inLoop(pinned[i]) && inLoop(pinned[j])); // an iteration comes after the one before
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t i = 0; i < pinned.size(); ++i)
      for (size_t j = i + 1; j < pinned.size(); ++j) {
        const size_t a = group[i], b = group[j];
        const bool together = live[a].second > live[b].first && live[b].second > live[a].first;
        if (a == b || !((together && box[a].meets(box[b])) || sees(i, j)))
          continue;
        box[a] = {std::min(box[a].p0, box[b].p0), std::max(box[a].p1, box[b].p1), std::min(box[a].b0, box[b].b0),
                  std::max(box[a].b1, box[b].b1)};
        live[a] = {std::min(live[a].first, live[b].first), std::max(live[a].second, live[b].second)};
        for (size_t &g : group)
          if (g == b)
            g = a;
        changed = true;
      }
  }
  for (size_t g = 0; g < pinned.size(); ++g) {
    std::vector<size_t> members;
    for (size_t i = 0; i < pinned.size(); ++i)
      if (group[i] == g)
        members.push_back(i);
    if (members.size() < 2)
      continue;
    nisa::AllocOp first = pinned[members[0]].op;
    mlir::Block &block = first->getParentOfType<nisa::CoreOp>().getBody().front();
    mlir::OpBuilder b(&block, block.begin());
    std::string label;
    for (size_t m : members)
      label += (label.empty() ? "" : "+") + pinned[m].op.getLabel().str();
    const auto type = nisa::TensorType::get(b.getContext(), first.getTensor().getType().getSpace(), DType::U8,
                                            {box[g].p1 - box[g].p0, box[g].b1 - box[g].b0});
    auto merged = nisa::AllocOp::create(b, first.getLoc(), type, b.getStringAttr(label),
                                        b.getDenseI64ArrayAttr({box[g].p0, box[g].b0}), b.getUnitAttr(), {});
    for (size_t m : members) {
      rebase(pinned[m].op, merged);
      pinned[m].op.erase();
    }
  }
}

} // namespace

void mergeAliases(nisa::KernelOp k) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    const bool any = core.walk([](nisa::AllocOp op) {
                           return op.getPinned() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
                         })
                         .wasInterrupted();
    if (!any)
      continue;
    std::vector<Lifetime> sbuf, psum;
    for (Lifetime &l : lifetimesOf(core))
      if (l.pinned)
        (l.space == Space::Sbuf ? sbuf : psum).push_back(l);
    mergeSpace(std::move(sbuf));
    mergeSpace(std::move(psum));
  }
}

} // namespace glia
