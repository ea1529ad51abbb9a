#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Numerics/Alu.h"

namespace glia {

enum { DST, A, B, OP };

// Integer operands of 32 bits are computed exactly on GpSimd; Vector computes them in fp32.
static bool exactIntegers(const Exec &x) {
  auto wide = [](DType t) { return t == DType::I32 || t == DType::U32; };
  return x.engine == Engine::GpSimd && wide(x.region(A).dtype) && wide(x.region(B).dtype) && wide(x.region(DST).dtype);
}

INSTRUCTION(tensor_tensor, "dst = op(a, b), element by element.") {
  def.source("nki.isa API reference, tensor_tensor")
      .engines({Engine::Vector, Engine::GpSimd})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("a", SlotKind::In, "first operand")
      .slot("b", SlotKind::In, "second operand")
      .choice("op", aluOpNames(), "operation");
  def.rules({"SAME-SHAPE", "ONE-PSUM-INPUT", "ALU-OP"}).check([](Check &c) {
    c.sameShape({DST, A, B});
    c.onePsumInput(A, B);
  });
  def.execute([](Exec &x) {
    const AluOp op = static_cast<AluOp>(x.integer(OP));
    const Region &dst = x.region(DST);
    for (int p = 0; p < dst.partitions; ++p) {
      if (exactIntegers(x) || isBitOp(op)) {
        const int32_t *a = x.readI32(A, p), *b = x.readI32(B, p);
        aluRowInt(op, a, b, x.writeI32(DST, p), dst.elements, dst.dtype == DType::U32);
        x.commitI32(DST, p);
      } else {
        const float *a = x.readF32(A, p), *b = x.readF32(B, p);
        aluRow(op, a, b, x.writeF32(DST, p), dst.elements);
        x.commitF32(DST, p);
      }
    }
  });
  def.cost([](const CostQuery &q) {
    const double n = q.elements(DST);
    const bool onePsum = (q.space(A) == Space::Psum) != (q.space(B) == Space::Psum);
    return q.pipelined(onePsum ? n : 2 * n);
  });
}

} // namespace glia
