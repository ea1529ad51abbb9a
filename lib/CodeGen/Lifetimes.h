// From which place in program order to which each allocation is in use.
#pragma once
#include "glia/Dialect/Instruction.h"

#include <vector>

namespace glia::codegen {

struct Lifetime {
  mutable nisa::AllocOp op;
  uint32_t from = 0, to = 0;        // [from, to) in places of the core's program order; equal if it is never used
  mlir::Operation *first = nullptr; // at `from`: its first use, or the loop that it is in; null if it is never used
  int64_t bytes = 0;                // per partition
  int32_t partitions = 0;
  Space space = Space::Sbuf;
  bool pinned = false; // its author has placed it
  bool kept = false;   // made in a loop, and holds what an iteration before has left
  uint32_t number = 0; // among the allocations of the core
};

using Looks = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 1>>;

// In the order of `from`, then of the allocations. What is used in a loop and made outside lives through the whole loop. `looks`: tensors
// that somebody looks at beside an instruction, which is a use as well.
std::vector<Lifetime> lifetimesOf(nisa::CoreOp core, const Looks &looks = Looks());

} // namespace glia::codegen
