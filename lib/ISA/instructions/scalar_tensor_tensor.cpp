// (data op0 operand0) op1 operand1: a scalar first, then a second tensor. fp32 on the Vector engine.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>

namespace glia {

enum { DST, DATA, OP0, OPERAND0, OP1, OPERAND1, REVERSE0, REVERSE1 };

static void check(Check &c) {
  c.sameShape({DST, DATA, OPERAND1});
  c.onePsumInput(DATA, OPERAND1);
  checkAluOp(c, OP0, kBinary | kUnary | kBypass);
  checkAluOp(c, OP1, kBinary);
  checkAluScalar(c, OP0, OPERAND0, DATA, /*anyType=*/true); // all of its inputs are cast to fp32, unlike tensor_scalar's
  checkComputeTypes(c, {DST, DATA, OPERAND0, OPERAND1});
}

static void execute(Exec &x) {
  constexpr int64_t kChunk = 1024; // the first result stays in the cache and apart from operand1, which may be dst
  float first[kChunk];
  const AluOp op0 = static_cast<AluOp>(x.integer(OP0)), op1 = static_cast<AluOp>(x.integer(OP1));
  const bool reverse0 = x.integer(REVERSE0) && !isUnary(op0), reverse1 = x.integer(REVERSE1);
  const Region &dst = x.region(DST);
  for (int p = 0; p < dst.partitions; ++p) {
    const float s = x.has(OPERAND0) ? x.scalar(OPERAND0, p) : 0;
    const float *a = x.readF32(DATA, p), *b = x.readF32(OPERAND1, p);
    float *out = x.writeF32(DST, p);
    for (int64_t i = 0; i < dst.elements; i += kChunk) {
      const int64_t n = std::min(kChunk, dst.elements - i);
      aluRowScalar(op0, a + i, s, reverse0, first, n);
      if (reverse1)
        aluRow(op1, b + i, first, out + i, n);
      else
        aluRow(op1, first, b + i, out + i, n);
    }
    x.commitF32(DST, p);
  }
}

// The published formula does not mention PSUM; on targets with automatic modes narrow floats count as in tensor_tensor (assumed).
static Cost cost(const CostQuery &q) {
  const double n = q.elements(DST);
  const bool bf16 = q.dtype(DATA) == DType::BF16 && q.dtype(OPERAND1) == DType::BF16;
  const bool pair =
      static_cast<AluOp>(q.integer(OP0)) == AluOp::Subtract && static_cast<AluOp>(q.integer(OP1)) == AluOp::Multiply;
  const bool mode = q.target.has("vector_perf_modes") && narrowFloats(q, {DST, DATA, OPERAND1}) &&
                    q.space(DATA) == Space::Sbuf && q.space(OPERAND1) == Space::Sbuf;
  const bool even = static_cast<int64_t>(n) % 2 == 0;
  return streamCost(q, mode || (bf16 && pair && even) ? n : 2 * n, {DST, DATA, OPERAND1});
}

INSTRUCTION(scalar_tensor_tensor, "dst = (data op0 operand0) op1 operand1, operand0 a scalar and operand1 a tensor.") {
  def.source("nki.isa API reference, scalar_tensor_tensor; cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "first tensor")
      .choice("op0", aluOpNames(), "first operation")
      .slot("operand0", SlotKind::OptScalar, "a number, or one element per partition; none for one-operand operations")
      .choice("op1", aluOpNames(), "second operation")
      .slot("operand1", SlotKind::In, "second tensor")
      .slot("reverse0", SlotKind::Flag, "1: operand0 op0 data")
      .orElse(0)
      .slot("reverse1", SlotKind::Flag, "1: operand1 op1 (first result)")
      .orElse(0);
  def.rules({"SAME-SHAPE", "ONE-PSUM-INPUT", "PER-PARTITION-SCALAR", "ALU-OP", "ALU-OPERAND", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost(cost);
}

} // namespace glia
