// What an instruction touches, in absolute coordinates, and whether two touches may meet. Allocation has been done: tensors on
// chip are bytes of SBUF or PSUM, so that tensors that share memory conflict like anything else.
#pragma once
#include "glia/Dialect/Instruction.h"

#include <vector>

namespace glia::codegen {

struct Touch {
  Space space = Space::Hbm;
  const void *object = nullptr; // HBM: the tensor
  int32_t first = 0, last = 1;  // partitions [first, last)
  int64_t lo = 0, hi = 0;       // bytes [lo, hi): of the partition, or of the tensor
  bool write = false;
  bool dense = true;     // touches all of [lo, hi)
  int64_t rowStride = 0; // not dense: rows of rowBytes, rowStride apart, the first at lo; 0: no such form is known
  int64_t rowBytes = 0;
};

bool mayMeet(const Touch &a, const Touch &b);
bool covers(const Touch &a, const Touch &b); // everything b touches, a does

// The tensor operands of an instruction. Registers in addresses widen an operand to its whole tensor; rows chosen by an index
// tensor touch the whole tensor too.
void addTouches(nisa::Instr i, std::vector<Touch> &out);

} // namespace glia::codegen
