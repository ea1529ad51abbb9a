// Two tensors, element by element. Vector computes in fp32; GpSimd computes 32-bit integers exactly (they wrap).
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, A, B, OP };

static void check(Check &c) {
  const AluOp op = static_cast<AluOp>(c.integer(OP));
  const bool wide = isWide(c.operand(DST).dtype()) && isWide(c.operand(A).dtype()) && isWide(c.operand(B).dtype());
  c.sameShape({DST, A, B});
  c.onePsumInput(A, B);
  if (checkAluOp(c, OP, kBinary | kBits, wide) && isBitOp(op))
    checkBitTypes(c, {DST, A, B});
  checkComputeTypes(c, {DST, A, B});
}

static void execute(Exec &x) {
  const AluOp op = static_cast<AluOp>(x.integer(OP));
  const Region &dst = x.region(DST);
  const DType a = x.region(A).dtype, b = x.region(B).dtype;
  const bool exact = x.engine == Engine::GpSimd && isWide(a) && isWide(b) && isWide(dst.dtype) && exactInteger(op);
  const bool isUnsigned =
      a == DType::U32 && b == DType::U32; // for comparisons; one signed operand makes them signed (assumed)
  for (int p = 0; p < dst.partitions; ++p) {
    if (exact || isBitOp(op)) {
      const int32_t *u = x.readBits(A, p), *v = x.readBits(B, p);
      aluRowInt(op, u, v, x.writeI32(DST, p), dst.elements, isUnsigned);
      x.commitI32(DST, p);
    } else {
      const float *u = x.readF32(A, p), *v = x.readF32(B, p);
      aluRow(op, u, v, x.writeF32(DST, p), dst.elements);
      x.commitF32(DST, p);
    }
  }
}

// Vector reads two streams: 2N cycles unless one of them comes from PSUM, or all are narrow floats. Without the automatic modes
// only add, subtract and multiply of adjacent bf16 are that fast. GpSimd: no public formula, taken as 2N.
static Cost cost(const CostQuery &q) {
  const double n = q.elements(DST);
  const AluOp op = static_cast<AluOp>(q.integer(OP));
  const bool psumA = q.space(A) == Space::Psum, psumB = q.space(B) == Space::Psum;
  bool single = psumA != psumB;
  if (q.engine == Engine::Vector && !psumA && !psumB) {
    const bool bf16 = q.dtype(DST) == DType::BF16 && q.dtype(A) == DType::BF16 && q.dtype(B) == DType::BF16;
    single = q.target.has("vector_perf_modes")
                 ? narrowFloats(q, {DST, A, B})
                 : bf16 && op <= AluOp::Multiply && q.pattern(A).contiguous() && q.pattern(B).contiguous();
  }
  return streamCost(q, single ? n : 2 * n, {DST, A, B});
}

INSTRUCTION(tensor_tensor, "dst = a op b, element by element.") {
  def.source("nki.isa API reference, tensor_tensor; cost: the reference of SDK 2.26 and the Trainium2 architecture guide")
      .engines({Engine::Vector, Engine::GpSimd})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("a", SlotKind::In, "first operand")
      .slot("b", SlotKind::In, "second operand")
      .choice("op", aluOpNames(), "operation");
  def.rules({"SAME-SHAPE", "ONE-PSUM-INPUT", "ALU-OP", "BIT-OP-TYPE", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost(cost);
}

} // namespace glia
