// What an instruction touches, in absolute coordinates, and whether two touches may meet. Allocation has been done: tensors on
// chip are bytes of SBUF or PSUM, so that tensors that share memory conflict like anything else.
#pragma once
#include "glia/Dialect/Instruction.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace glia::codegen {

struct Area {
  int32_t first = 0, last = 1; // partitions [first, last)
  int64_t lo = 0, hi = 0;      // bytes [lo, hi): of the partition, or of the tensor
  bool dense = true;           // touches all of [lo, hi)
  int64_t rowStride = 0;       // not dense: rows of rowBytes, rowStride apart, the first at lo; 0: no such form is known
  int64_t rowBytes = 0;
};

struct Touch : Area {
  Space space = Space::Hbm;
  const void *object = nullptr; // HBM: the tensor
  const void *tile = nullptr;   // on chip, in kernels that ask for whole tiles
  bool write = false;
  // An address that counters of loops move, or registers that are set once: what is touched beside where they point. Two touches that
  // move alike are compared there, since these have one value while an iteration lasts.
  struct Motion {
    const void *reg;
    int64_t scale;
    bool partition;
    friend bool operator==(const Motion &, const Motion &) = default;
  };
  llvm::SmallVector<Motion, 1> moves;
  Area beside;
};

bool mayMeet(const Touch &a, const Touch &b);
bool covers(const Touch &a, const Touch &b); // everything b touches, a does

// The tensor operands of instructions. Registers in addresses widen an operand to its whole tensor; rows chosen by an index tensor touch
// the whole tensor too.
class Touches {
public:
  void add(nisa::Instr i, std::vector<Touch> &out);

private:
  std::optional<bool> wholeTiles;          // of the kernel
  llvm::DenseMap<mlir::Value, bool> known; // registers: whether they are steady
  bool steady(mlir::Value reg);            // keeps its value while an iteration lasts
  Touch touchOf(nisa::Instr i, nisa::AccessAttr a, bool indexed);
};

} // namespace glia::codegen
