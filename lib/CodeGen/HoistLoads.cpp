// Inner loops first, so that what leaves one may leave the next. A loop that may not run gives up only loads of inputs and constants:
// they are there in any case.
#include "Room.h"
#include "TileLoads.h"
#include "Transforms/Remarks.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace glia {

namespace {

class Hoister {
public:
  Hoister(nisa::KernelOp kernel, const Target &target) : kernel(kernel), target(target), facts(kernel) {}

  size_t run() {
    std::vector<mlir::Operation *> loops;
    kernel.walk([&](mlir::Operation *op) { // inner ones first
      if (llvm::isa<nisa::LoopOp, nisa::WhileOp>(op))
        loops.push_back(op);
    });
    for (mlir::Operation *loop : loops)
      leave(loop);
    if (!moved.empty())
      addRemark(kernel, "kept " + counted(moved.size(), "load") + " out of loops (" + listOf(names) + ")");
    return moved.size();
  }

private:
  nisa::KernelOp kernel;
  const Target &target;
  LoadFacts facts;
  llvm::DenseSet<mlir::Operation *> moved;
  llvm::SetVector<llvm::StringRef> names; // of tensors in HBM

  // Of the tiles that are used in a loop: in it or outside it they may have been made.
  void leave(mlir::Operation *loop) {
    mlir::Block &body = loop->getRegion(0).front();
    llvm::SetVector<mlir::Operation *> tiles;
    for (mlir::Operation &op : body)
      if (const nisa::Instr i(&op); i && i.def().unit == Unit::Dma && i.tensor(0))
        if (auto tile = i.tensor(0).getDefiningOp<nisa::AllocOp>())
          tiles.insert(tile);
    std::vector<TileLoads> found;
    for (mlir::Operation *tile : tiles)
      if (auto loads = facts.loadsOf(llvm::cast<nisa::AllocOp>(tile), body); loads && stays(*loads, loop))
        found.push_back(std::move(*loads));
    if (found.empty())
      return;
    Room room(loop->getParentOfType<nisa::CoreOp>(), target);
    const Room::Span all = room.of(loop);
    for (TileLoads &t : found) {
      const Room::Span now = room.of(t.tile);
      if (!room.take(t.tile, {{all.from, std::max(now.from, all.from)}, {std::min(now.to, all.to), all.to}}))
        continue;
      if (t.tile->getBlock() == &body)
        t.tile->moveBefore(loop);
      for (size_t i = 0; i < t.loads.size(); ++i) {
        t.loads[i].operation()->moveBefore(loop);
        moved.insert(t.loads[i].operation());
        names.insert(t.source(i).getDefiningOp<nisa::TensorOp>().getLabel());
      }
    }
  }

  bool stays(const TileLoads &t, mlir::Operation *loop) const {
    auto counted = llvm::dyn_cast<nisa::LoopOp>(loop);
    const bool runs = counted && counted.getCount() && static_cast<int32_t>(*counted.getCount()) > 0;
    for (size_t i = 0; i < t.loads.size(); ++i) {
      const llvm::StringRef kind = t.source(i).getDefiningOp<nisa::TensorOp>().getKind();
      if (facts.mayChangeIn(t.source(i), loop) || !(runs || kind == "input" || kind == "constant"))
        return false;
    }
    return true;
  }
};

} // namespace

size_t hoistLoads(nisa::KernelOp kernel, const Target &target) { return Hoister(kernel, target).run(); }

} // namespace glia
