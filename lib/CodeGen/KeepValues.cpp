// A kernel that is written as several stages stores what one gives and the next one takes. Where the tile that was stored can stay, the
// load becomes that tile itself, or copies and transposes on chip; what nobody loads any more is not stored, unless it is a result.
//
//   the same partitions, the same layout     the tile is used where it lies
//   partitions of the stored tile            tensor_copy for each run of them
//   rows become columns                      nc_transpose through PSUM, or in blocks on Vector where Tensor's is not exact
//   anything else                            stays a store and a load
#include "MoveOnChip.h"
#include "Room.h"
#include "Transforms/InstrFacts.h"
#include "Transforms/Remarks.h"
#include "TransferMap.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace glia {

namespace codegen {

using nisa::Instr;

namespace {

constexpr size_t kMostStores = 64; // of a tensor: each load is compared with each

class Keeper {
public:
  Keeper(nisa::CoreOp core, const Target &target) : block(core.getBody().front()), target(target), room(core, target) {}

  size_t run() {
    std::vector<Instr> loads;
    for (mlir::Operation &op : block)
      if (const Instr i(&op); i && isLoad(i))
        loads.push_back(i);
    for (const Instr &load : loads)
      keep(load);
    return kept;
  }

private:
  mlir::Block &block;
  const Target &target;
  Room room;
  llvm::DenseMap<mlir::Value, uint32_t> until; // tiles that stay longer than they did
  size_t kept = 0;

  static mlir::Value homeOf(Instr i, int slot) {
    const mlir::Value v = i.tensor(slot);
    return v && llvm::cast<nisa::TensorType>(v.getType()).getSpace() == Space::Hbm ? v : mlir::Value();
  }
  // A transfer of elements as they are, which nobody has ordered.
  static bool isPlain(Instr i) {
    return (i.is("dma_copy") || i.is("dma_transpose")) && i->getNumOperands() == 2 && !i->hasAttr("after") &&
           !i->hasAttr("chain") && !i->hasAttr("id");
  }
  static bool isMade(mlir::Value home) { // by the kernel, nobody else sees it meanwhile
    auto t = home.getDefiningOp<nisa::TensorOp>();
    return t && (t.getKind() == "scratch" || t.getKind() == "output") && !t.getAlias();
  }
  static bool isLoad(Instr i) {
    const mlir::Value home = isPlain(i) ? homeOf(i, 1) : mlir::Value();
    return home && isMade(home) && i.tensor(0).getDefiningOp<nisa::AllocOp>();
  }

  // The stores of a tensor; nothing if somebody else writes to it too.
  std::optional<std::vector<Instr>> storesOf(mlir::Value home) const {
    std::vector<Instr> out;
    for (mlir::Operation *user : home.getUsers()) {
      const Instr i(user);
      if (!i)
        return std::nullopt;
      bool writes = false;
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        writes |= i.tensor(static_cast<int>(k)) == home && i.writes(static_cast<int>(k));
      if (!writes)
        continue;
      if (user->getBlock() != &block || !isPlain(i) || out.size() == kMostStores)
        return std::nullopt;
      out.push_back(i);
    }
    return out;
  }

  // Whether somebody writes to a tile from one operation of the block on (it excluded) up to another; null: to the end.
  bool changes(mlir::Value tile, mlir::Operation *from, mlir::Operation *to) const {
    return llvm::any_of(tile.getUsers(), [&](mlir::Operation *user) {
      mlir::Operation *at = block.findAncestorOpInBlock(*user);
      if (!at || !Instr(user))
        return true;
      if (!from->isBeforeInBlock(at) || (to && !at->isBeforeInBlock(to)))
        return false;
      const Instr i(user);
      for (size_t k = 0; k < i.def().slots.size(); ++k)
        if (i.tensor(static_cast<int>(k)) == tile && i.writes(static_cast<int>(k)))
          return true;
      return false;
    });
  }

  struct Source {
    Instr store;
    TransferMap map;
    SharedBox box;
  };

  // Where the elements of a load were stored from, each once.
  std::optional<std::vector<Source>> sourcesOf(Instr load, const TransferMap &wanted) const {
    const auto stores = storesOf(load.tensor(1));
    if (!stores)
      return std::nullopt;
    std::vector<Source> out;
    int64_t elements = 0;
    for (const Instr &store : *stores) {
      const std::optional<TransferMap> map = mapOf(store, 1);
      if (!map)
        return std::nullopt;
      const auto shared = sharedBy(*map, wanted);
      if (std::holds_alternative<Unknown>(shared))
        return std::nullopt;
      const auto &box = std::get<std::optional<SharedBox>>(shared);
      if (!box)
        continue;
      if (!store->isBeforeInBlock(load.operation()) || changes(map->tile, store.operation(), load.operation()) ||
          map->tile == wanted.tile)
        return std::nullopt;
      for (const Source &other : out) {
        const auto twice = sharedBy(other.map, *map);
        if (std::holds_alternative<Unknown>(twice) || std::get<std::optional<SharedBox>>(twice))
          return std::nullopt;
      }
      elements += box->elements();
      out.push_back({store, *map, *box});
    }
    return elements == wanted.elements() && !out.empty() ? std::optional(std::move(out)) : std::nullopt;
  }

  void keep(Instr load) {
    const std::optional<TransferMap> wanted = mapOf(load, 0);
    const auto sources = wanted ? sourcesOf(load, *wanted) : std::nullopt;
    if (!sources)
      return;
    const mlir::Value home = load.tensor(1);
    if (!becomes(load, *wanted, *sources) && !moves(load, *wanted, *sources))
      return;
    ++kept;
    load.operation()->erase();
    forget(home);
  }

  // Nobody loads it any more, and it is no result.
  static void forget(mlir::Value home) {
    auto tensor = home.getDefiningOp<nisa::TensorOp>();
    const std::vector<mlir::Operation *> users(home.getUsers().begin(), home.getUsers().end());
    if (tensor.getKind() != "scratch" || !llvm::all_of(users, [&](mlir::Operation *u) {
          const Instr i(u);
          return i && isPlain(i) && i.tensor(0) == home;
        }))
      return;
    for (mlir::Operation *u : users)
      u->erase();
    tensor.erase();
  }

  uint32_t endOf(nisa::AllocOp tile) const {
    const auto it = until.find(tile.getTensor());
    return it == until.end() ? room.of(tile).to : it->second;
  }

  // There is room for a tile until then.
  bool stays(nisa::AllocOp tile, uint32_t to) {
    const uint32_t end = endOf(tile);
    if (end < to && !room.take(tile, {{end, to}}))
      return false;
    until[tile.getTensor()] = std::max(end, to);
    return true;
  }

  // The loaded tile is the stored one.
  bool becomes(Instr load, const TransferMap &wanted, const std::vector<Source> &sources) {
    if (sources.size() != 1)
      return false;
    const SharedBox &box = sources[0].box;
    auto to = wanted.tile.getDefiningOp<nisa::AllocOp>(), from = sources[0].map.tile.getDefiningOp<nisa::AllocOp>();
    const auto alike = [](const SharedBox::Step &s) { return s.fromPartition == s.toPartition && s.from == s.to; };
    if (!from || to.getPinned() || from.getPinned() || box.fromPartition != box.toPartition ||
        !llvm::all_of(box.steps, alike) || !nisa::writesAll(load, wanted.tile) ||
        changes(sources[0].map.tile, sources[0].store.operation(), nullptr) || changesBeside(wanted.tile, load) ||
        !stays(from, endOf(to)))
      return false;
    const int64_t bytes = (box.from - box.to) * sizeOf(wanted.dtype);
    std::vector<mlir::Operation *> users;
    for (mlir::Operation *user : wanted.tile.getUsers())
      if (user != load.operation() && !llvm::is_contained(users, user))
        users.push_back(user);
    for (mlir::Operation *user : users)
      redirect(Instr(user), wanted.tile, from.getTensor(), bytes);
    return true;
  }

  // Somebody but the load writes to its tile, or looks at it before.
  bool changesBeside(mlir::Value tile, Instr load) const {
    return changes(tile, load.operation(), nullptr) || llvm::any_of(tile.getUsers(), [&](mlir::Operation *user) {
             mlir::Operation *at = block.findAncestorOpInBlock(*user);
             return at != load.operation() && at->isBeforeInBlock(load.operation());
           });
  }

  static void redirect(Instr user, mlir::Value old, mlir::Value now, int64_t bytes) {
    for (size_t k = 0; k < user.def().slots.size(); ++k) {
      const int slot = static_cast<int>(k);
      if (user.tensor(slot) != old)
        continue;
      const nisa::AccessAttr a = user.access(slot);
      user.setSlot(slot, nisa::AccessAttr::get(a.getContext(), a.getBase(), a.getDtype(), a.getPartition(),
                                               a.getPartitions(), a.getByteOffset() + bytes, a.getDims(), a.getTerms()));
    }
    for (mlir::OpOperand &operand : user->getOpOperands())
      if (operand.get() == old)
        operand.set(now);
  }

  // Instructions on chip that do what the load did.
  bool moves(Instr load, const TransferMap &wanted, const std::vector<Source> &sources) {
    mlir::OpBuilder b(load.operation());
    std::vector<mlir::Operation *> made;
    const auto undo = [&] {
      for (mlir::Operation *op : llvm::reverse(made))
        op->erase();
      return false;
    };
    const uint32_t at = room.of(wanted.tile.getDefiningOp<nisa::AllocOp>()).to;
    for (const Source &s : sources) {
      auto tile = s.map.tile.getDefiningOp<nisa::AllocOp>();
      if (!tile || !moveOnChip(b, load->getLoc(), target, s.map.tile, wanted, s.box, made))
        return undo();
    }
    for (const Source &s : sources)
      if (!stays(s.map.tile.getDefiningOp<nisa::AllocOp>(), at))
        return undo();
    return true;
  }
};

} // namespace

} // namespace codegen

size_t keepValues(nisa::KernelOp kernel, const Target &target) {
  if (kernel.asWritten() || kernel.cores() != 1)
    return 0;
  const size_t kept = codegen::Keeper(kernel.core(0), target).run();
  if (kept)
    addRemark(kernel, "left out " + counted(kept, "load") + " of what it had stored itself");
  return kept;
}

} // namespace glia
