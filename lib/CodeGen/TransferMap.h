// Which element of a tile lies where in HBM, for a transfer between the two: nested steps, each of which moves both. From it follows what
// one transfer loads of what another one stored.
#pragma once
#include "glia/Dialect/Instruction.h"

#include <optional>
#include <variant>
#include <vector>

namespace glia::codegen {

struct TransferStep {
  int64_t count = 1;
  int64_t home = 0;       // elements of the tensor in HBM
  int64_t chip = 0;       // partitions, or elements of a partition
  bool partition = false; // what `chip` counts
};

struct TransferMap {
  mlir::Value tile;
  DType dtype = DType::F32;
  int64_t home = 0;                // where it begins in HBM, in elements
  int64_t partition = 0, chip = 0; // and in the tile
  std::vector<TransferStep> steps; // widest in HBM first
  int64_t elements() const;
};

// Of a transfer that moves elements as they are, without registers and indices. Slot `chipSlot` is the tile.
std::optional<TransferMap> mapOf(nisa::Instr transfer, int chipSlot);

// A box of elements that lie in two tiles.
struct SharedBox {
  struct Step {
    int64_t count = 1;
    int64_t from = 0, to = 0; // how far it moves in the tile that was stored, and in the one that is loaded
    bool fromPartition = false, toPartition = false;
  };
  std::vector<Step> steps;
  int64_t fromPartition = 0, from = 0, toPartition = 0, to = 0; // where it begins
  int64_t elements() const;
};

struct Unknown {}; // more than one box, or none that is found

// What `load` takes of what `store` wrote; nothing if they do not meet.
std::variant<std::optional<SharedBox>, Unknown> sharedBy(const TransferMap &store, const TransferMap &load);

} // namespace glia::codegen
