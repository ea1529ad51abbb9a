// Lifetimes only become shorter: a tile begins with the instruction that writes all of it.
#include "Transforms/InstrFacts.h"
#include "Transforms/Remarks.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace glia {

using nisa::Instr;

// The instructions that use a tile, in program order; none if one of them stands in another block.
static std::vector<Instr> usersOf(nisa::AllocOp tile) {
  std::vector<Instr> out;
  for (mlir::Operation *user : tile.getTensor().getUsers()) {
    const Instr i(user);
    if (!i || user->getBlock() != tile->getBlock())
      return {};
    out.push_back(i);
  }
  llvm::sort(out, [](Instr a, Instr b) { return a->isBeforeInBlock(b.operation()); });
  out.erase(std::unique(out.begin(), out.end(), [](Instr a, Instr b) { return a.operation() == b.operation(); }), out.end());
  return out;
}

static bool isRead(const std::vector<Instr> &users, mlir::Value tile) {
  return llvm::any_of(users, [&](Instr i) {
    for (int k = 0; k < static_cast<int>(i.def().slots.size()); ++k)
      if (i.tensor(k) == tile && i.reads(k))
        return true;
    return false;
  });
}

static size_t rename(nisa::AllocOp tile) {
  if (tile.getPinned())
    return 0;
  const mlir::Value old = tile.getTensor();
  const std::vector<Instr> users = usersOf(tile);
  const bool inLoop = !llvm::isa<nisa::CoreOp>(tile->getParentOp());
  if (!isRead(users, old) ||
      (inLoop && !nisa::writesAll(users.front(), old))) // an iteration may see what the one before has left
    return 0;
  size_t made = 0;
  mlir::Value now = old;
  for (size_t n = 1; n < users.size(); ++n) {
    if (nisa::writesAll(users[n], old)) {
      mlir::OpBuilder b(users[n].operation());
      auto fresh = llvm::cast<nisa::AllocOp>(b.clone(*tile.getOperation()));
      now = fresh.getTensor();
      ++made;
    }
    if (now != old)
      for (mlir::OpOperand &operand : users[n]->getOpOperands())
        if (operand.get() == old)
          operand.set(now);
  }
  return made;
}

size_t renameTiles(nisa::KernelOp kernel) {
  std::vector<nisa::AllocOp> tiles;
  kernel.walk([&](nisa::AllocOp tile) { tiles.push_back(tile); });
  size_t made = 0, renamed = 0;
  for (nisa::AllocOp tile : tiles) {
    const size_t more = rename(tile);
    made += more;
    renamed += more > 0;
  }
  if (made)
    addRemark(kernel,
              "gave " + counted(renamed, "tile") + " that the kernel writes again " + counted(made, "place") + " more");
  return made;
}

} // namespace glia
