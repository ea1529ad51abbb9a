#include "glia/ISA/RegisterAlu.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>

namespace glia {

enum { DST, OP, A, B };

const EnumNames &registerOps() {
  static constexpr std::string_view kNames[] = {"add", "subtract", "multiply", "and",        "or",
                                                "xor", "min",      "max",      "shift_left", "shift_right"};
  static constexpr EnumNames kEnum{"register_op", kNames};
  return kEnum;
}

int32_t computeRegister(RegisterOp op, int32_t a, int32_t b) {
  const uint32_t ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
  switch (op) {
  case RegisterOp::Add: return static_cast<int32_t>(ua + ub);
  case RegisterOp::Subtract: return static_cast<int32_t>(ua - ub);
  case RegisterOp::Multiply: return static_cast<int32_t>(ua * ub);
  case RegisterOp::And: return a & b;
  case RegisterOp::Or: return a | b;
  case RegisterOp::Xor: return a ^ b;
  case RegisterOp::Min: return std::min(a, b);
  case RegisterOp::Max: return std::max(a, b);
  case RegisterOp::ShiftLeft: return ub < 32 ? static_cast<int32_t>(ua << ub) : 0;
  case RegisterOp::ShiftRight: break;
  }
  return ub < 32 ? static_cast<int32_t>(ua >> ub) : 0;
}

INSTRUCTION(reg_alu, "dst = a op b on registers: 32 bits, wrapping; min and max are signed, shift_right fills with zeros.") {
  def.source(
         "architecture guides: register arithmetic of the sequencers; KLR Operators.lean for the operand form; the list of "
         "operations is assumed")
      .everyEngine()
      .unit(Unit::Register)
      .flow(Flow::None)
      .slot("dst", SlotKind::RegOut, "register that is written")
      .choice("op", registerOps(), "operation")
      .slot("a", SlotKind::RegIn, "first operand")
      .slot("b", SlotKind::RegOrInt, "second operand");
  def.execute([](Exec &x) { x.reg(DST) = computeRegister(static_cast<RegisterOp>(x.integer(OP)), x.reg(A), x.integer(B)); });
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
