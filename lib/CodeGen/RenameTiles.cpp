// Lifetimes only become shorter: a tile begins with the instruction that writes all of it.
#include "Transforms/InstrFacts.h"
#include "Transforms/Remarks.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace glia {

using nisa::Instr;

static void sortUsers(std::vector<Instr> &users) {
  llvm::sort(users, [](Instr a, Instr b) { return a->isBeforeInBlock(b.operation()); });
  users.erase(std::unique(users.begin(), users.end(), [](Instr a, Instr b) { return a.operation() == b.operation(); }),
              users.end());
}

// The instructions that use a tile, in program order; none if one of them stands in another block.
static std::vector<Instr> usersOf(nisa::AllocOp tile) {
  std::vector<Instr> out;
  for (mlir::Operation *user : tile.getTensor().getUsers()) {
    const Instr i(user);
    if (!i || user->getBlock() != tile->getBlock())
      return {};
    out.push_back(i);
  }
  sortUsers(out);
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

// Where a tile may begin anew: with an instruction that writes all of it, or that makes something of all of it while somebody else may
// still be reading. Numbers of `users`, but for the first.
static std::vector<size_t> beginnings(const std::vector<Instr> &users, mlir::Value tile) {
  const bool sbuf = llvm::cast<nisa::TensorType>(tile.getType()).getSpace() == Space::Sbuf;
  constexpr uint32_t kTransfers = 1u << kNumEngines;
  uint32_t readers = 0; // engines that read what lies there now, a bit each
  std::vector<size_t> out;
  for (size_t n = 0; n < users.size(); ++n) {
    const Instr i = users[n];
    const uint32_t mine = i.def().unit == Unit::Dma ? kTransfers : i.engine() ? 1u << static_cast<int>(*i.engine()) : 0;
    const uint32_t late = mine == kTransfers ? readers : readers & ~mine;
    if (nisa::writesAll(i, tile) || (sbuf && late && nisa::rewritesAll(i, tile))) {
      if (n > 0)
        out.push_back(n);
      readers = 0;
    } else if (isRead({i}, tile)) {
      readers |= mine;
    }
  }
  return out;
}

// What `i` writes to is `written` now, what it reads is `read`. Slots that name one tensor share an operand.
static void replaceTile(Instr i, mlir::Value tile, mlir::Value read, mlir::Value written) {
  const unsigned last = i->getNumOperands();
  const bool both = read != written && isRead({i}, tile);
  for (int k = 0; both && k < static_cast<int>(i.def().slots.size()); ++k) {
    if (i.tensor(k) != tile || !i.writes(k))
      continue;
    if (i->getNumOperands() == last)
      i->insertOperands(last, written);
    const nisa::AccessAttr a = i.access(k);
    i.setSlot(k, nisa::AccessAttr::get(a.getContext(), last, a.getDtype(), a.getPartition(), a.getPartitions(),
                                       a.getByteOffset(), a.getDims(), a.getTerms()));
  }
  for (unsigned n = 0; n < last; ++n)
    if (i->getOperand(n) == tile)
      i->setOperand(n, both ? read : written);
}

// Each part of `users` that begins at one of these has a tile of its own; the last one keeps the old if it is seen from outside.
static size_t giveTiles(nisa::AllocOp tile, const std::vector<Instr> &users, const std::vector<size_t> &begins,
                        bool seenOutside) {
  const mlir::Value old = tile.getTensor();
  mlir::Value now = old;
  size_t made = 0, next = 0;
  for (size_t n = 0; n < users.size(); ++n) {
    const mlir::Value before = now;
    if (next < begins.size() && begins[next] == n) {
      ++next;
      if (seenOutside && next == begins.size()) {
        now = old;
      } else {
        mlir::OpBuilder b(users[n].operation());
        now = llvm::cast<nisa::AllocOp>(b.clone(*tile.getOperation())).getTensor();
        ++made;
      }
    }
    replaceTile(users[n], old, before, now);
  }
  return made;
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
  return giveTiles(tile, users, beginnings(users, old), false);
}

// A tile that is made before a loop and begins anew in it several times: what the iteration leaves is in the old one.
static size_t renameIn(mlir::Block &body, nisa::AllocOp tile) {
  std::vector<Instr> users;
  for (mlir::Operation *user : tile.getTensor().getUsers()) {
    mlir::Operation *at = body.findAncestorOpInBlock(*user);
    if (at && (at != user || !Instr(user)))
      return 0; // in a loop in this one
    if (at)
      users.emplace_back(user);
  }
  sortUsers(users);
  return giveTiles(tile, users, beginnings(users, tile.getTensor()), true);
}

size_t renameInLoops(nisa::KernelOp kernel) {
  size_t made = 0;
  std::vector<nisa::AllocOp> tiles;
  kernel.walk([&](nisa::AllocOp tile) { tiles.push_back(tile); });
  for (nisa::AllocOp tile : tiles) {
    if (tile.getPinned())
      continue;
    llvm::SetVector<mlir::Block *> bodies;
    for (mlir::Operation *user : tile.getTensor().getUsers())
      if (user->getBlock() != tile->getBlock())
        bodies.insert(user->getBlock());
    for (mlir::Block *body : bodies)
      made += renameIn(*body, tile);
  }
  if (made)
    addRemark(kernel, "gave tiles that loops write again " + counted(made, "place") + " more");
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
