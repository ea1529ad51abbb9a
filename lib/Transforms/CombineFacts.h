// What has to be known of two instructions before they become one.
#pragma once
#include "glia/Dialect/Instruction.h"
#include "glia/ISA/AluRules.h"

namespace glia {

inline bool isPlain(nisa::AccessAttr a) { return a && a.getTerms().empty(); }
// The same elements of a tensor, whichever operand it is.
inline bool sameElements(nisa::AccessAttr a, nisa::AccessAttr b) {
  return isPlain(a) && isPlain(b) && a.getDtype() == b.getDtype() && a.getPartition() == b.getPartition() &&
         a.getPartitions() == b.getPartitions() && a.getByteOffset() == b.getByteOffset() && a.getDims() == b.getDims();
}
inline bool isFloatAccess(nisa::AccessAttr a) { return isPlain(a) && isFloat(a.getDtype()); }

// Nobody writes to what slot `slot` of `i` reads before `end`.
inline bool staysUntil(nisa::Instr i, int slot, nisa::Instr end) {
  const mlir::Value tensor = i.tensor(slot);
  if (!tensor)
    return true;
  for (mlir::Operation *user : tensor.getUsers()) {
    mlir::Operation *at = i->getBlock()->findAncestorOpInBlock(*user);
    if (!at || at == i.operation() || !i->isBeforeInBlock(at) || !at->isBeforeInBlock(end.operation()))
      continue;
    const nisa::Instr other(user);
    for (size_t k = 0; other && k < other.def().slots.size(); ++k)
      if (other.tensor(static_cast<int>(k)) == tensor && other.writes(static_cast<int>(k)))
        return false;
  }
  return true;
}

inline nisa::SlotValue slotOf(nisa::Instr i, std::string_view name) { return i.value(i.def().slot(name)); }
inline AluOp aluOf(nisa::Instr i, std::string_view name) { return static_cast<AluOp>(i.integer(name)); }

// One operation with one number per row, on floats.
inline bool isOneScalar(nisa::Instr i) {
  const int first = i.def().slot("operand0");
  return i.is("tensor_scalar") && isFloatAccess(i.access(1)) && aluOf(i, "op1") == AluOp::Bypass &&
         slotOf(i, "operand1").kind == nisa::SlotValue::Absent && slotOf(i, "operand0").kind != nisa::SlotValue::Absent &&
         !isBitOp(aluOf(i, "op0")) && (!i.access(first) || isFloatAccess(i.access(first)));
}

} // namespace glia
