#include "Lifetimes.h"

#include <algorithm>

namespace glia::codegen {

namespace {

struct Places {
  llvm::DenseMap<mlir::Operation *, std::pair<uint32_t, uint32_t>>
      of; // first and one past the last place, loops with their bodies
  uint32_t next = 0;
  void number(mlir::Block &block) {
    for (mlir::Operation &op : block) {
      const uint32_t begin = next++;
      for (mlir::Region &r : op.getRegions())
        for (mlir::Block &b : r)
          number(b);
      of[&op] = {begin, next++};
    }
  }
};

} // namespace

std::vector<Lifetime> lifetimesOf(nisa::CoreOp core) {
  Places places;
  places.number(core.getBody().front());
  std::vector<Lifetime> out;
  core.walk([&](nisa::AllocOp op) {
    Lifetime l;
    l.op = op;
    l.number = static_cast<uint32_t>(out.size());
    const nisa::TensorType type = op.getTensor().getType();
    l.partitions = static_cast<int32_t>(type.getShape()[0]);
    l.bytes = sizeOf(type.getDtype());
    for (size_t i = 1; i < type.getShape().size(); ++i)
      l.bytes *= type.getShape()[i];
    bool used = false;
    bool startsRead = false; // in a loop: holds what an iteration before has left
    mlir::Block *home = op->getBlock();
    for (mlir::Operation *user : op.getTensor().getUsers()) {
      mlir::Operation *at = home->findAncestorOpInBlock(*user);
      const auto [begin, end] = places.of[at];
      if (!used || begin < l.from) {
        startsRead = false;
        if (nisa::Instr i{at})
          for (size_t k = 0; k < i.def().slots.size(); ++k)
            if (i.tensor(static_cast<int>(k)) == op.getTensor() && i.reads(static_cast<int>(k)))
              startsRead = true;
      }
      l.from = used ? std::min(l.from, begin) : begin;
      l.to = used ? std::max(l.to, end) : end;
      used = true;
    }
    if (!used)
      l.from = l.to = places.of[op].first;
    if (used && startsRead && !llvm::isa<nisa::CoreOp>(home->getParentOp())) {
      l.from = places.of[home->getParentOp()].first;
      l.to = places.of[home->getParentOp()].second;
    }
    out.push_back(l);
  });
  std::sort(out.begin(), out.end(),
            [](const Lifetime &a, const Lifetime &b) { return a.from != b.from ? a.from < b.from : a.number < b.number; });
  return out;
}

} // namespace glia::codegen
