// Reduces the trailing free dimensions: adjacent groups of a partition's elements, in the order of the access pattern, make
// one output each. The order inside a group is in docs/numerics.md.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { DST, DATA, OP, NEGATE };

static void check(Check &c) {
  const OperandInfo &dst = c.operand(DST), &data = c.operand(DATA);
  if (dst.partitions() != data.partitions() || dst.elements() < 1 || data.elements() % dst.elements())
    c.fail("REDUCE-SHAPE", DST,
           format("%d x %lld elements cannot be reduced to %d x %lld", data.partitions(), (long long)data.elements(),
                  dst.partitions(), (long long)dst.elements()),
           format("%d x %lld", dst.partitions(), (long long)dst.elements()),
           format("%d partitions and a divisor of %lld", data.partitions(), (long long)data.elements()));
  const AluOp op = static_cast<AluOp>(c.integer(OP));
  if (checkAluOp(c, OP, kBinary | kBits | kReduction) && isBitOp(op)) {
    checkBitTypes(c, {DST, DATA});
    if (c.integer(NEGATE))
      c.fail("ALU-OP", NEGATE, "a reduction of bits cannot be negated", "1", "0");
  }
  checkComputeTypes(c, {DST, DATA});
}

static void execute(Exec &x) {
  const AluOp op = static_cast<AluOp>(x.integer(OP));
  const Region &dst = x.region(DST);
  const int64_t group = x.region(DATA).elements / dst.elements;
  for (int p = 0; p < dst.partitions; ++p) {
    if (isBitOp(op)) {
      const int32_t *in = x.readBits(DATA, p);
      int32_t *out = x.writeI32(DST, p);
      for (int64_t i = 0; i < dst.elements; ++i)
        out[i] = reduceRowInt(op, in + i * group, group, true);
      x.commitI32(DST, p);
    } else {
      const float *in = x.readF32(DATA, p);
      float *out = x.writeF32(DST, p);
      for (int64_t i = 0; i < dst.elements; ++i)
        out[i] = reduceRow(op, in + i * group, group);
      if (x.integer(NEGATE))
        aluRowScalar(AluOp::Multiply, out, -1, false, out, dst.elements);
      x.commitF32(DST, p);
    }
  }
}

INSTRUCTION(tensor_reduce, "Each element of dst = the reduction of an adjacent group of elements of data.") {
  def.source("nki.isa API reference, tensor_reduce; cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .flow(Flow::Reduce)
      .slot("dst", SlotKind::Out, "results; elements(data) / elements(dst) inputs make one")
      .slot("data", SlotKind::In, "input; its pattern gives the order")
      .choice("op", aluOpNames(), "reduction: add, subtract, multiply, max, min, logical or bitwise and, or, xor")
      .slot("negate", SlotKind::Flag, "1: multiply the results by -1")
      .orElse(0);
  def.rules({"REDUCE-SHAPE", "ALU-OP", "BIT-OP-TYPE", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) {
        const AluOp op = static_cast<AluOp>(q.integer(OP));
        const bool half =
            q.dtype(DATA) == DType::BF16 && q.dtype(DST) == DType::BF16 && (op == AluOp::Add || op == AluOp::Max);
        return atEnd(streamCost(q, half ? q.elements(DATA) / 2 : q.elements(DATA), {DST, DATA}));
      });
}

} // namespace glia
