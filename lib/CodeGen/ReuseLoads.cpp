// Tiles that loads fill with the same bytes form a chain in program order. Where a tile of the chain may stay until the next one is
// needed, the next one is the same tile. The shortest stays come first: they cost least room for what they save.
#include "Room.h"
#include "TileLoads.h"
#include "Transforms/Remarks.h"
#include "glia/CodeGen/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <map>

namespace glia {

namespace {

struct Link { // the later tile could be the earlier one
  size_t earlier, later;
  uint32_t stay; // places between them
};

class Reuser {
public:
  Reuser(nisa::KernelOp kernel, const Target &target) : kernel(kernel), target(target), facts(kernel) {}

  size_t run() {
    for (auto core : kernel.getBody().getOps<nisa::CoreOp>())
      inCore(core);
    if (removed)
      addRemark(kernel, "left out " + counted(removed, "load") + " of what was still in SBUF (" + listOf(names) + ")");
    return removed;
  }

private:
  nisa::KernelOp kernel;
  const Target &target;
  LoadFacts facts;
  size_t removed = 0;
  llvm::SetVector<llvm::StringRef> names; // of tensors in HBM

  void inCore(nisa::CoreOp core) {
    std::vector<TileLoads> tiles; // in the order of their first loads within each block
    core.walk([&](mlir::Operation *op) {
      if (op->getNumRegions())
        collect(op->getRegion(0).front(), tiles);
    });
    std::vector<Link> links = linksOf(tiles);
    if (links.empty())
      return;
    Room room(core, target);
    for (Link &l : links)
      l.stay = room.of(tiles[l.later].tile).from - room.of(tiles[l.earlier].tile).to;
    std::sort(links.begin(), links.end(),
              [](const Link &a, const Link &b) { return a.stay != b.stay ? a.stay < b.stay : a.later < b.later; });
    std::vector<size_t> same(tiles.size()); // the tile that it becomes
    for (size_t i = 0; i < tiles.size(); ++i)
      same[i] = i;
    for (const Link &l : links)
      if (room.take(tiles[l.earlier].tile, {{room.of(tiles[l.earlier].tile).to, room.of(tiles[l.later].tile).from}}))
        same[l.later] = l.earlier;
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (same[i] == i)
        continue;
      same[i] = same[same[i]]; // the earlier one has been settled
      replace(tiles[i], tiles[same[i]]);
    }
  }

  void collect(mlir::Block &block, std::vector<TileLoads> &tiles) const {
    const size_t before = tiles.size();
    for (auto tile : block.getOps<nisa::AllocOp>())
      if (auto loads = facts.loadsOf(tile, block))
        tiles.push_back(std::move(*loads));
    std::sort(tiles.begin() + static_cast<long>(before), tiles.end(), [](const TileLoads &a, const TileLoads &b) {
      return nisa::Instr(a.first())->isBeforeInBlock(b.first().operation());
    });
  }

  // Equal for tiles that are filled with the same bytes: pointers to what is unique in the context.
  static std::vector<const void *> contentsOf(const TileLoads &t) {
    nisa::AllocOp tile = t.tile;
    std::vector<const void *> key = {tile->getBlock(), tile.getTensor().getType().getAsOpaquePointer()};
    for (size_t i = 0; i < t.loads.size(); ++i) {
      key.push_back(t.loads[i]->getName().getAsOpaquePointer());
      key.push_back(t.loads[i].slots().getAsOpaquePointer());
      key.push_back(t.source(i).getAsOpaquePointer());
    }
    return key;
  }

  std::vector<Link> linksOf(const std::vector<TileLoads> &tiles) const {
    std::vector<Link> links;
    std::map<std::vector<const void *>, size_t> last; // looked up only: its order is that of addresses
    for (size_t i = 0; i < tiles.size(); ++i) {
      const auto [it, fresh] = last.try_emplace(contentsOf(tiles[i]), i);
      if (fresh)
        continue;
      if (stays(tiles[it->second], tiles[i]))
        links.push_back({it->second, i, 0});
      it->second = i;
    }
    return links;
  }

  bool stays(const TileLoads &a, const TileLoads &b) const {
    if (!a.last()->isBeforeInBlock(b.first().operation()))
      return false;
    for (size_t i = 0; i < a.loads.size(); ++i)
      if (facts.mayChange(a.source(i), a.first().operation(), b.last().operation()))
        return false;
    return true;
  }

  void replace(TileLoads &t, TileLoads &by) {
    for (size_t i = 0; i < t.loads.size(); ++i)
      names.insert(t.source(i).getDefiningOp<nisa::TensorOp>().getLabel());
    removed += t.loads.size();
    for (nisa::Instr &load : t.loads)
      load.operation()->erase();
    t.tile.getTensor().replaceAllUsesWith(by.tile.getTensor());
    if (mlir::Operation *home = by.tile.getOperation(); t.tile->isBeforeInBlock(home))
      home->moveBefore(t.tile.getOperation());
    t.tile.erase();
  }
};

} // namespace

size_t reuseLoads(nisa::KernelOp kernel, const Target &target) { return Reuser(kernel, target).run(); }

} // namespace glia
