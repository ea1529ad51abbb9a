#include "TileLoads.h"

#include "llvm/ADT/STLExtras.h"

namespace glia {

using nisa::Instr;

LoadFacts::LoadFacts(nisa::KernelOp kernel) {
  const bool several = kernel.cores() > 1;
  kernel.walk([&](mlir::Operation *op) {
    const Instr i(op);
    if (!i)
      return;
    if (auto after = op->getAttrOfType<mlir::DenseI32ArrayAttr>("after"))
      awaited.insert(after.asArrayRef().begin(), after.asArrayRef().end());
    for (size_t k = 0; k < i.def().slots.size(); ++k) {
      const mlir::Value tensor = i.tensor(static_cast<int>(k));
      if (!tensor || !i.writes(static_cast<int>(k)) ||
          llvm::cast<nisa::TensorType>(tensor.getType()).getSpace() != Space::Hbm)
        continue;
      writers[tensor].push_back(op);
      if (several && !tensor.getDefiningOp<nisa::TensorOp>().getIsPrivate())
        common.insert(tensor);
    }
  });
}

bool LoadFacts::isLoad(Instr i, mlir::Value tile) const {
  if (!(i.is("dma_copy") || i.is("dma_transpose")) || i.tensor(0) != tile || i->hasAttr("after") || i->hasAttr("chain"))
    return false;
  if (const auto id = i.attribute("id"); id && awaited.contains(*id))
    return false;
  const mlir::Value source = i.tensor(1);
  if (!source || llvm::cast<nisa::TensorType>(source.getType()).getSpace() != Space::Hbm || common.contains(source))
    return false;
  return i->getNumOperands() == 2; // neither a register nor an index
}

std::optional<TileLoads> LoadFacts::loadsOf(nisa::AllocOp tile, mlir::Block &block) const {
  if (tile.getPinned() || tile.getTensor().getType().getSpace() != Space::Sbuf)
    return std::nullopt;
  TileLoads out{tile, {}};
  mlir::Operation *read = nullptr;
  for (mlir::Operation *user : tile.getTensor().getUsers()) {
    mlir::Operation *at = block.findAncestorOpInBlock(*user);
    const Instr i(user);
    if (!at || !i)
      return std::nullopt;
    bool writes = false;
    for (size_t k = 0; k < i.def().slots.size(); ++k)
      writes |= i.tensor(static_cast<int>(k)) == tile.getTensor() && i.writes(static_cast<int>(k));
    if (writes) {
      if (at != user || !isLoad(i, tile.getTensor()))
        return std::nullopt;
      out.loads.push_back(i);
    } else if (!read || at->isBeforeInBlock(read)) {
      read = at;
    }
  }
  if (out.loads.empty())
    return std::nullopt;
  llvm::sort(out.loads, [](Instr a, Instr b) { return a->isBeforeInBlock(b.operation()); });
  if (read && read->isBeforeInBlock(out.last().operation()))
    return std::nullopt;
  return out;
}

bool LoadFacts::mayChange(mlir::Value tensor, mlir::Operation *from, mlir::Operation *to) const {
  const auto it = writers.find(tensor);
  return it != writers.end() && llvm::any_of(it->second, [&](mlir::Operation *w) {
           mlir::Operation *at = from->getBlock()->findAncestorOpInBlock(*w);
           return at && from->isBeforeInBlock(at) && at->isBeforeInBlock(to);
         });
}

bool LoadFacts::mayChangeIn(mlir::Value tensor, mlir::Operation *loop) const {
  const auto it = writers.find(tensor);
  return it != writers.end() && llvm::any_of(it->second, [&](mlir::Operation *w) { return loop->isAncestor(w); });
}

} // namespace glia
