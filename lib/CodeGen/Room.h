// How much of SBUF is taken where, in program order: whether tiles may live longer.
#pragma once
#include "Lifetimes.h"
#include "glia/Target/Target.h"

namespace glia {

class Room {
public:
  Room(nisa::CoreOp core, const Target &target);

  struct Span {
    uint32_t from = 0, to = 0;
  };
  // Where a tile is in use, and what a loop spans, in places of program order (Lifetimes.h).
  Span of(nisa::AllocOp tile) const { return tiles.lookup(tile.getTensor()); }
  Span of(mlir::Operation *loop) const { return loops.lookup(loop); }

  // Takes the bytes that `tile` needs in these spans, if enough is left for others; else nothing.
  bool take(nisa::AllocOp tile, llvm::ArrayRef<Span> spans);

private:
  int64_t budget;
  uint32_t places = 0, size = 1;
  llvm::DenseMap<mlir::Value, Span> tiles;
  llvm::DenseMap<mlir::Operation *, Span> loops;
  std::vector<int64_t> most, more; // a tree over the places: bytes at most below a node, and what holds for all of it

  void number(mlir::Block &block);
  int64_t mostIn(uint32_t node, uint32_t from, uint32_t to, Span s) const;
  void add(uint32_t node, uint32_t from, uint32_t to, Span s, int64_t bytes);
};

} // namespace glia
