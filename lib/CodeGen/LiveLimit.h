// What is live on chip while instructions are put in order before memory has been given out: an instruction that begins a tile waits
// until there is room for it.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <vector>

namespace glia::codegen {

// Of a partition.
int64_t bytesOf(nisa::AllocOp tile);

class LiveLimit {
public:
  LiveLimit(const Target &target);

  // Node `n` of a block, with everything in it: `op` uses these tiles.
  void add(uint32_t n, mlir::Operation *op);
  void restart();

  bool fits(uint32_t n) const;
  bool take(uint32_t n); // the node is issued; whether tiles ended with it
  bool exceeded() const { return over; }

private:
  struct Tile {
    int space;
    int64_t bytes;
    uint32_t users = 0, left = 0;
    bool begun = false;
  };
  const Target &target;
  std::array<int64_t, 2> limit, live{}; // SBUF, PSUM: bytes of a partition
  std::vector<Tile> tiles;
  std::vector<std::vector<uint32_t>> uses; // per node
  llvm::DenseMap<mlir::Value, uint32_t> numbers;
  bool over = false;
};

} // namespace glia::codegen
