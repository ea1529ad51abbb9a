// What is known of tiles that nothing but transfers from HBM fill: which transfers, and whether they would bring the same bytes again.
#pragma once
#include "glia/Dialect/Instruction.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace glia {

struct TileLoads {
  nisa::AllocOp tile;
  llvm::SmallVector<nisa::Instr, 2> loads; // in program order; all that write to the tile

  nisa::Instr first() const { return loads.front(); }
  nisa::Instr last() const { return loads.back(); }
  mlir::Value source(size_t i) const { return loads[i].tensor(1); }
};

class LoadFacts {
public:
  explicit LoadFacts(nisa::KernelOp kernel);

  // The loads of a tile, if they stand in `block` in front of everything that reads it, move the same bytes wherever they stand, and
  // nobody has ordered them. Everything that uses the tile lies in `block`.
  std::optional<TileLoads> loadsOf(nisa::AllocOp tile, mlir::Block &block) const;

  // Whether somebody may write to a tensor of HBM between two operations of a block (its ends excluded).
  bool mayChange(mlir::Value tensor, mlir::Operation *from, mlir::Operation *to) const;
  bool mayChangeIn(mlir::Value tensor, mlir::Operation *loop) const;

private:
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *, 4>> writers; // of tensors in HBM
  llvm::DenseSet<mlir::Value> common;                                           // written by a core while another may look
  llvm::DenseSet<int32_t> awaited;                                              // instructions that others are to follow
  bool isLoad(nisa::Instr i, mlir::Value tile) const;
};

} // namespace glia
