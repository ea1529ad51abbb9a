// Memory is given out in program order. An author who writes one independent piece of work after the other gets pieces that wait for
// each other's tiles, although engines could do them at the same time. Here instructions are first put in the order in which engines
// would do them if nobody waited for a place, with no more live than there is memory.
#include "Schedule.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace glia {

using namespace codegen;

// One block, and no registers: those are not replicated yet.
static bool isStraight(nisa::CoreOp core) {
  return llvm::all_of(core.getBody().front(), [](mlir::Operation &op) {
    return (nisa::Instr(&op) || llvm::isa<nisa::AllocOp>(op)) &&
           llvm::none_of(op.getOperandTypes(), [](mlir::Type t) { return llvm::isa<nisa::RegType>(t); });
  });
}

// Addresses beside each other, beyond all memory.
static std::vector<nisa::AllocOp> spreadTiles(nisa::CoreOp core, const Target &target) {
  mlir::Builder b(core.getContext());
  int64_t next = target.sbufBytes + target.psumBytes;
  std::vector<nisa::AllocOp> tiles;
  for (auto tile : core.getBody().getOps<nisa::AllocOp>()) {
    if (tile.getPinned())
      continue;
    tile.setAtAttr(b.getDenseI64ArrayAttr({0, next}));
    next += bytesOf(tile);
    tiles.push_back(tile);
  }
  return tiles;
}

bool hasFreeOrder(nisa::KernelOp k) {
  return !k.asWritten() && llvm::all_of(k.getBody().getOps<nisa::CoreOp>(), [](nisa::CoreOp core) {
    return core.getBody().front().getOperations().size() <= kMostTried && isStraight(core);
  });
}

bool orderBeforeMemory(nisa::KernelOp k, const Target &target) {
  for (auto core : k.getBody().getOps<nisa::CoreOp>()) {
    std::vector<nisa::AllocOp> tiles = spreadTiles(core, target);
    LiveLimit room(target);
    const bool fits = orderBlock(core.getBody().front(), target, room);
    for (nisa::AllocOp tile : tiles)
      tile.removeAtAttr();
    if (!fits)
      return false;
  }
  return true;
}

} // namespace glia
