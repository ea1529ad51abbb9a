// A recurrence along each partition: r[i] = (data0[i] op0 r[i-1]) op1 data1[i], in fp32 whatever the type of dst.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <limits>

namespace glia {

enum { DST, DATA0, DATA1, INITIAL, OP0, OP1, REVERSE0, REVERSE1 };

static void check(Check &c) {
  c.sameShape({DST, DATA0, DATA1});
  c.onePsumInput(DATA0, DATA1);
  c.perPartition(INITIAL, DATA0, true);
  checkAluOp(c, OP0, kBinary);
  checkAluOp(c, OP1, kBinary);
  checkComputeTypes(c, {DST, DATA0, DATA1, INITIAL});
}

// The common recurrence (a state space model, a running sum), with the same rounding and NaN as two calls of alu().
static void multiplyAdd(const float *a, const float *b, float r, float *out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float product = a[i] * r;
    r = product + b[i];
    out[i] = r == r ? r : std::numeric_limits<float>::quiet_NaN();
  }
}

static void execute(Exec &x) {
  const AluOp op0 = static_cast<AluOp>(x.integer(OP0)), op1 = static_cast<AluOp>(x.integer(OP1));
  const bool reverse0 = x.integer(REVERSE0), reverse1 = x.integer(REVERSE1);
  const Region &dst = x.region(DST);
  for (int p = 0; p < dst.partitions; ++p) {
    float r = x.scalar(INITIAL, p);
    const float *a = x.readF32(DATA0, p), *b = x.readF32(DATA1, p);
    float *out = x.writeF32(DST, p);
    if (op0 == AluOp::Multiply && op1 == AluOp::Add) {
      multiplyAdd(a, b, r, out, dst.elements);
    } else {
      for (int64_t i = 0; i < dst.elements; ++i) {
        const float t = reverse0 ? alu(op0, r, a[i]) : alu(op0, a[i], r);
        out[i] = r = reverse1 ? alu(op1, b[i], t) : alu(op1, t, b[i]);
      }
    }
    x.commitF32(DST, p);
  }
}

INSTRUCTION(tensor_tensor_scan,
            "dst[i] = (data0[i] op0 dst[i-1]) op1 data1[i] along each partition, starting from initial.") {
  def.source("nki.isa API reference, tensor_tensor_scan; cost: the reference of SDK 2.26; the state is fp32: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Scan)
      .slot("dst", SlotKind::Out, "results")
      .slot("data0", SlotKind::In, "combined with the running value")
      .slot("data1", SlotKind::In, "combined with that")
      .slot("initial", SlotKind::Scalar, "a number, or one element per partition: the value before the first")
      .choice("op0", aluOpNames(), "first operation")
      .choice("op1", aluOpNames(), "second operation")
      .slot("reverse0", SlotKind::Flag, "1: dst[i-1] op0 data0[i]")
      .orElse(0)
      .slot("reverse1", SlotKind::Flag, "1: data1[i] op1 (first result)")
      .orElse(0);
  def.rules({"SAME-SHAPE", "ONE-PSUM-INPUT", "PER-PARTITION-SCALAR", "ALU-OP", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) { return streamCost(q, 2 * q.elements(DST), {DST, DATA0, DATA1}); });
}

} // namespace glia
