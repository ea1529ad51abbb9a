#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, SRC };

INSTRUCTION(reg_move, "A register of the issuing engine gets a number or the value of another register.") {
  def.source("nki.isa API reference, register_move")
      .everyEngine()
      .unit(Unit::Register)
      .flow(Flow::None)
      .slot("dst", SlotKind::RegOut, "register that is written")
      .slot("src", SlotKind::RegOrInt, "a 32-bit number, or a register");
  def.execute([](Exec &x) { x.reg(DST) = x.integer(SRC); });
  def.cost([](const CostQuery &q) { return q.sequencer(); });
}

} // namespace glia
