// (data op0 operand0) op1 operand1 with operands that are one number, or one number per partition. fp32, or bits on Vector.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { DST, DATA, OP0, OPERAND0, REVERSE0, OP1, OPERAND1, REVERSE1 };

// rule ALU-PAIR: what the two operations may be together.
static void checkPair(Check &c, AluOp op0, AluOp op1) {
  auto text = [](AluOp op) { return std::string(aluOpNames().names[static_cast<size_t>(op)]); };
  const std::string pair = text(op0) + " then " + text(op1);
  if (op1 != AluOp::Bypass && isBitOp(op0) != isBitOp(op1))
    c.fail("ALU-PAIR", OP1, "op0 and op1 are a bit operation and an arithmetic one: " + pair, pair, "both of one kind");
  const bool scalarHas =
      (op0 == AluOp::Multiply && (op1 == AluOp::Add || op1 == AluOp::Bypass)) || (op0 == AluOp::Add && op1 == AluOp::Bypass);
  if (c.engine == Engine::Scalar && !scalarHas)
    c.fail("ALU-PAIR", OP0, "the scalar engine cannot do " + pair, pair, "multiply then add, multiply, or add");
  if (c.engine == Engine::GpSimd && op0 != AluOp::Rsqrt && op1 != AluOp::Rsqrt)
    c.fail("ALU-PAIR", OP0, "the gpsimd engine runs tensor_scalar for rsqrt only, not for " + pair, pair,
           "rsqrt among the two");
}

static void check(Check &c) {
  const AluOp op0 = static_cast<AluOp>(c.integer(OP0)), op1 = static_cast<AluOp>(c.integer(OP1));
  c.sameShape({DST, DATA});
  if (checkAluOp(c, OP0, kBinary | kUnary | kBits | kBypass) && checkAluOp(c, OP1, kBinary | kUnary | kBits | kBypass))
    checkPair(c, op0, op1);
  checkAluScalar(c, OP0, OPERAND0, DATA);
  checkAluScalar(c, OP1, OPERAND1, DATA);
  if (isBitOp(op0) || isBitOp(op1))
    checkBitTypes(c, {DST, DATA, OPERAND0, OPERAND1});
  checkComputeTypes(c, {DST, DATA, OPERAND0, OPERAND1});
}

// The operand of a bit operation: the value of the immediate as a 32-bit pattern, or the element's bits.
static int32_t bits(Exec &x, int slot, int p) {
  if (!x.has(slot))
    return 0;
  if (!x.operands[slot].immediate)
    return *x.readBits(slot, p);
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(x.number(slot))));
}

static void execute(Exec &x) {
  const AluOp op0 = static_cast<AluOp>(x.integer(OP0)), op1 = static_cast<AluOp>(x.integer(OP1));
  const bool reverse0 = x.integer(REVERSE0), reverse1 = x.integer(REVERSE1);
  const Region &dst = x.region(DST);
  const int64_t n = dst.elements;
  for (int p = 0; p < dst.partitions; ++p) {
    if (isBitOp(op0) || isBitOp(op1)) {
      const int32_t b0 = bits(x, OPERAND0, p), b1 = bits(x, OPERAND1, p);
      const int32_t *in = x.readBits(DATA, p);
      int32_t *out = x.writeI32(DST, p);
      aluRowIntScalar(op0, in, b0, reverse0, out, n, true);
      if (op1 != AluOp::Bypass)
        aluRowIntScalar(op1, out, b1, reverse1, out, n, true);
      x.commitI32(DST, p);
    } else {
      const float s0 = x.has(OPERAND0) ? x.scalar(OPERAND0, p) : 0, s1 = x.has(OPERAND1) ? x.scalar(OPERAND1, p) : 0;
      const float *in = x.readF32(DATA, p);
      float *out = x.writeF32(DST, p);
      aluRowScalar(op0, in, s0, reverse0 && !isUnary(op0), out, n);
      if (op1 != AluOp::Bypass)
        aluRowScalar(op1, out, s1, reverse1 && !isUnary(op1), out, n);
      x.commitF32(DST, p);
    }
  }
}

// rsqrt on GpSimd is four times slower than on Scalar (documented); everything else streams.
static Cost cost(const CostQuery &q) {
  const double n = q.elements(DST);
  return streamCost(q, q.engine == Engine::GpSimd ? 4 * n : n / streamRate(q, DATA, DST), {DST, DATA});
}

INSTRUCTION(tensor_scalar, "dst = (data op0 operand0) op1 operand1, with operands that are the same along a partition.") {
  def.source("nki.isa API reference, tensor_scalar; cost: the reference of SDK 2.26 and the Trainium2 architecture guide")
      .engines({Engine::Vector, Engine::Scalar, Engine::GpSimd})
      .needsOn(Engine::Scalar, "scalar_tensor_scalar")
      .flow(Flow::Elementwise)
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "tensor operand")
      .choice("op0", aluOpNames(), "first operation")
      .slot("operand0", SlotKind::OptScalar,
            "its scalar: a number, or one fp32 element per partition (bit operations: one integer); none for "
            "one-operand operations")
      .slot("reverse0", SlotKind::Flag, "1: operand0 op0 data")
      .orElse(0)
      .choice("op1", aluOpNames(), "second operation")
      .orElse(static_cast<int32_t>(AluOp::Bypass))
      .slot("operand1", SlotKind::OptScalar, "its scalar, as operand0")
      .slot("reverse1", SlotKind::Flag, "1: operand1 op1 (first result)")
      .orElse(0);
  def.rules({"SAME-SHAPE", "PER-PARTITION-SCALAR", "ALU-OP", "ALU-PAIR", "ALU-OPERAND", "BIT-OP-TYPE", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost(cost);
}

} // namespace glia
