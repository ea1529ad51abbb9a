// Which tensors of SBUF live in HBM for a while, and where each lies while it is on chip: one walk through the program.
#pragma once
#include "Lifetimes.h"
#include "glia/Target/Target.h"

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
  std::vector<std::pair<mlir::Operation *, uint32_t>> sources;  // likewise: instructions that can be repeated
  uint32_t changed = 0;                                         // the first use that writes anything else
  bool delicate = false;   // it addresses memory: the verifier must see where its numbers come from
  std::vector<Stay> stays; // between two of them it is in HBM; none if it is never used
  // Up to the use its contents are what `sources` made.
  bool unchanged(uint32_t use) const { return use < changed; }
};

struct SpillPlan {
  std::vector<PlannedTensor> tensors;
  // Loops that do not find room beside what they use; their insides are not planned.
  std::vector<mlir::Operation *> crowded;
  bool possible = true; // false: an operation outside of them needs more than there is
};

// Every tensor of `sbuf` with its stays. What leaves is decided where memory runs out: what costs little to move and is not needed
// for long.
SpillPlan planSpills(nisa::CoreOp core, const std::vector<Lifetime> &sbuf, const Target &target);

} // namespace glia::codegen
