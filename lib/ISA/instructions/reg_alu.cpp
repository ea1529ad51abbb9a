#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>

namespace glia {

enum { DST, OP, A, B };

static const EnumNames &registerOps() {
  static constexpr std::string_view kNames[] = {"add", "subtract", "multiply", "and",        "or",
                                                "xor", "min",      "max",      "shift_left", "shift_right"};
  static constexpr EnumNames kEnum{"register_op", kNames};
  return kEnum;
}

// 32 bits, wrapping. The shift count is unsigned; 32 and more shift everything out (chosen).
static int32_t compute(int op, int32_t a, int32_t b) {
  const uint32_t ua = static_cast<uint32_t>(a), ub = static_cast<uint32_t>(b);
  switch (op) {
  case 0: return static_cast<int32_t>(ua + ub);
  case 1: return static_cast<int32_t>(ua - ub);
  case 2: return static_cast<int32_t>(ua * ub);
  case 3: return a & b;
  case 4: return a | b;
  case 5: return a ^ b;
  case 6: return std::min(a, b);
  case 7: return std::max(a, b);
  case 8: return ub < 32 ? static_cast<int32_t>(ua << ub) : 0;
  default: return ub < 32 ? static_cast<int32_t>(ua >> ub) : 0;
  }
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
  def.execute([](Exec &x) { x.reg(DST) = compute(x.integer(OP), x.reg(A), x.integer(B)); });
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
