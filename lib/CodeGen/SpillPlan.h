// Which tensors of SBUF live in HBM for a while, and where each lies while it is on chip: one walk through the program.
#pragma once
#include "Lifetimes.h"
#include "glia/Target/Target.h"

#include <optional>

namespace glia::codegen {

// By an operation of the block that the tensor was made in: an instruction, or a loop that uses it inside.
struct SpillUse {
  uint32_t place = 0; // as lifetimesOf counts
  mlir::Operation *op = nullptr;
  bool writes = false;
  bool replaces = false; // writes all of it and reads nothing of it: what it held before does not matter
};

struct Stay { // on chip, from this use on
  uint32_t first = 0;
  int64_t byte = 0;
};

struct PlannedTensor {
  Lifetime life;
  std::vector<SpillUse> uses;
  std::vector<std::pair<mlir::OpOperand *, uint32_t>> operands; // in program order, each with its use
  std::vector<std::pair<mlir::Operation *, uint32_t>> loads;    // likewise: what brings it from HBM that nobody writes
  uint32_t changed = 0;                                         // the first use that writes anything else
  std::vector<Stay> stays;                                      // between two of them it is in HBM; none if it is never used
  // Up to the use its contents are what `loads` brought.
  bool unchanged(uint32_t use) const { return use < changed; }
};

// Every tensor of `sbuf` with its stays. What leaves is decided where memory runs out: what costs little to move and is not needed
// for long. Nothing if an operation needs more than there is.
std::optional<std::vector<PlannedTensor>> planSpills(nisa::CoreOp core, const std::vector<Lifetime> &sbuf,
                                                     const Target &target);

} // namespace glia::codegen
