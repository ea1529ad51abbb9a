#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, SRC };

INSTRUCTION(reg_store,
            "One element of a tensor gets the value of a register; 8 and 16 bits take the low bits, f32 takes the bits.") {
  def.source("nki.isa API reference, register_store; narrowing is assumed")
      .everyEngine()
      .unit(Unit::Register)
      .flow(Flow::None)
      .slot("dst", SlotKind::Out, "one element, in SBUF or HBM")
      .slot("src", SlotKind::RegIn, "register that is stored");
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "OPERAND-LIMIT"}).check([](Check &c) {
    c.in(DST, {Space::Sbuf, Space::Hbm});
    c.types(DST, {DType::I32, DType::U32, DType::I16, DType::U16, DType::I8, DType::U8, DType::F32});
    c.within(DST, "the number of elements", c.operand(DST).pattern->elements(), 1, 1);
  });
  def.execute([](Exec &x) {
    *x.writeI32(DST, 0) = x.reg(SRC);
    x.commitI32(DST, 0);
  });
  def.cost([](const CostQuery &q) { return q.pipelined(1); });
}

} // namespace glia
