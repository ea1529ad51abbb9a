#include "WriteInPlace.h"
#include "InstrFacts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace glia {

using nisa::Instr;

namespace {

constexpr int64_t kLarge = 32; // so many tiles fill SBUF

class Block {
public:
  Block(mlir::Block &block, const Target &target) : block(block), target(target) {}

  void run() {
    for (mlir::Operation &op : llvm::make_early_inc_range(block))
      if (const Instr i(&op); i && i.def().unit == Unit::Compute && i.def().flow == Flow::Elementwise && isTile(i.tensor(0)))
        visit(i);
  }

private:
  mlir::Block &block;
  const Target &target;
  llvm::DenseMap<mlir::Type, mlir::Value> unread;

  // In SBUF, large, and used in this block alone.
  bool isTile(mlir::Value v) const {
    auto alloc = v ? v.getDefiningOp<nisa::AllocOp>() : nisa::AllocOp();
    if (!alloc || alloc.getPinned() || alloc->getBlock() != &block)
      return false;
    const auto type = llvm::cast<nisa::TensorType>(v.getType());
    const int64_t bytes = elementsOf(v) / type.getShape()[0] * sizeOf(type.getDtype());
    return type.getSpace() == Space::Sbuf && bytes * kLarge >= target.sbufBytes &&
           llvm::all_of(v.getUsers(), [&](mlir::Operation *u) { return u->getBlock() == &block; });
  }

  static int64_t elementsOf(mlir::Value v) {
    int64_t n = 1;
    for (int64_t size : llvm::cast<nisa::TensorType>(v.getType()).getShape())
      n *= size;
    return n;
  }
  void visit(Instr i) {
    const mlir::Value to = i.tensor(0);
    if (!nisa::writesAll(i, to))
      return;
    for (mlir::Operation *user : to.getUsers())
      if (user != i.operation() && user->isBeforeInBlock(i.operation()))
        return;
    if (i.is("activation") && to.hasOneUse()) {
      mlir::Value &shared = unread[to.getType()];
      if (shared)
        replace(to, shared);
      else
        shared = to;
      return;
    }
    for (int slot : {1, 2})
      if (slot < static_cast<int>(i.def().slots.size()) && isOver(i, slot))
        return replace(to, i.tensor(slot));
  }

  // The instruction is the last one that uses the tile, and reads it as it writes its result.
  bool isOver(Instr i, int slot) const {
    const mlir::Value from = i.tensor(slot), to = i.tensor(0);
    const nisa::AccessAttr read = i.access(slot), written = i.access(0);
    if (from == to || !isTile(from) || from.getType() != to.getType() || !read || !read.getTerms().empty() ||
        read.getDtype() != written.getDtype() || read.getPartition() != written.getPartition() ||
        read.getByteOffset() != written.getByteOffset() || read.getDims() != written.getDims() ||
        llvm::is_contained(llvm::make_second_range(unread), from))
      return false;
    for (size_t k = 1; k < i.def().slots.size(); ++k)
      if (static_cast<int>(k) != slot && i.tensor(static_cast<int>(k)) == from)
        return false;
    return llvm::all_of(from.getUsers(),
                        [&](mlir::Operation *u) { return u == i.operation() || u->isBeforeInBlock(i.operation()); });
  }

  static void replace(mlir::Value old, mlir::Value by) {
    mlir::Operation *alloc = old.getDefiningOp();
    old.replaceAllUsesWith(by);
    alloc->erase();
  }
};

} // namespace

void writeInPlace(nisa::KernelOp kernel, const Target &target) {
  for (auto core : kernel.getBody().getOps<nisa::CoreOp>())
    Block(core.getBody().front(), target).run();
}

} // namespace glia
