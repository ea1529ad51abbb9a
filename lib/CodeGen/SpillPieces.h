// What of a tensor a spill moves. Bytes that nobody wrote must not share a transfer with others: a transfer that reads one undefined
// byte leaves all of its destination undefined.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/Target/Target.h"

#include <optional>
#include <vector>

namespace glia::codegen {

struct Rect { // partitions [first, last), bytes [lo, hi) of each
  int64_t first = 0, last = 0, lo = 0, hi = 0;
  bool contains(const Rect &o) const { return first <= o.first && last >= o.last && lo <= o.lo && hi >= o.hi; }
};

struct Write {
  Rect where;
  bool sure = false;    // happens, and to all of the rectangle
  bool strided = false; // happens, and to a part of the rectangle: `view`
  nisa::TensorOperand view;
};

Rect wholeOf(nisa::AllocOp op);
// What a slot of an instruction writes, seen from the block of the allocation.
Write writeOf(nisa::Instr i, int slot, nisa::AllocOp op);
// The bytes of a rectangle as elements, of `type` if they are whole ones.
nisa::TensorOperand viewOf(const Rect &r, mlir::Value tensor, DType type);

// What was written to a tensor so far.
class Written {
public:
  explicit Written(nisa::AllocOp op) : op(op) {}
  void add(Write w); // in program order

  // Views of the tensor that together hold all of that, in an order in which they can be stored and brought back. Nothing if there
  // are too many, or if it is not known what was written: then all of the tensor has to be defined from its beginning.
  std::optional<std::vector<nisa::TensorOperand>> pieces(const Target &target) const;

private:
  mutable nisa::AllocOp op;
  std::vector<Write> writes;
  bool many = false; // more than are told apart
};

} // namespace glia::codegen
