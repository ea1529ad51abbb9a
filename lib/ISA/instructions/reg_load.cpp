#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, SRC };

INSTRUCTION(reg_load,
            "A register gets one element of a tensor; integers of 8 and 16 bits are extended, f32 keeps its bits.") {
  def.source("nki.isa API reference, register_load; extension of narrow types is assumed")
      .everyEngine()
      .unit(Unit::Register)
      .flow(Flow::None)
      .slot("dst", SlotKind::RegOut, "register that is written")
      .slot("src", SlotKind::In, "one element, in SBUF or HBM");
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "OPERAND-LIMIT"}).check([](Check &c) {
    c.in(SRC, {Space::Sbuf, Space::Hbm});
    c.types(SRC, {DType::I32, DType::U32, DType::I16, DType::U16, DType::I8, DType::U8, DType::F32});
    c.within(SRC, "the number of elements", c.operand(SRC).pattern->elements(), 1, 1);
  });
  def.execute([](Exec &x) { x.reg(DST) = *x.readI32(SRC, 0); });
  def.cost([](const CostQuery &q) { return q.pipelined(1); });
}

} // namespace glia
