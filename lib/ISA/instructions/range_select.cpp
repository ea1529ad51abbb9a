// Keeps the elements whose position lies between two bounds of their partition (a causal mask), and the running maximum.
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/Support/Diagnostic.h"

#include <cfloat>
#include <vector>

namespace glia {

enum { DST, DATA, COMP0, BOUND0, COMP1, BOUND1, START, FALSE_VALUE, REDUCE_CMD, REDUCE_RES };

static bool comparison(AluOp op) { return op == AluOp::Equal || (op >= AluOp::GreaterEqual && op <= AluOp::Less); }

static void check(Check &c) {
  c.sameShape({DST, DATA});
  c.perPartition(BOUND0, DATA);
  c.perPartition(BOUND1, DATA);
  c.perPartition(REDUCE_RES, DATA, true);
  c.types(DATA,
          {DType::F32, DType::TF32, DType::BF16, DType::F16, DType::F8E4M3, DType::F8E4M3FN, DType::F8E5M2, DType::F8E3M4});
  checkComputeTypes(c, {DST, REDUCE_RES});
  for (int slot : {COMP0, COMP1})
    if (const AluOp op = static_cast<AluOp>(c.integer(slot)); !comparison(op)) {
      const std::string opName(aluOpNames().names[static_cast<size_t>(op)]);
      c.fail("ALU-OP", slot, std::string(c.def.slots[slot].name) + " of range_select cannot be " + opName, opName,
             "equal, less, less_equal, greater, greater_equal");
    }
  if (c.number(FALSE_VALUE) != -FLT_MAX)
    c.fail("RANGE-SELECT-FILL", FALSE_VALUE, format("false_value is %g and must be %.8g", c.number(FALSE_VALUE), -FLT_MAX),
           format("%.8g", c.number(FALSE_VALUE)), format("%.8g", -FLT_MAX));
  constexpr int64_t kExact = int64_t(1) << 24; // positions are compared as fp32
  const int64_t start = c.integer(START);
  c.within(START, "the first position", start, -kExact, kExact);
  c.within(DATA, "the last position (range_start + elements - 1)", start + c.operand(DATA).elements() - 1, -kExact,
           kExact - 1);
  const auto cmd = static_cast<ReduceCmd>(c.integer(REDUCE_CMD));
  if (cmd == ReduceCmd::LoadReduce)
    c.fail("REDUCE-CMD", REDUCE_CMD, "range_select cannot load its accumulator", "load_reduce",
           "idle, reset, reduce, reset_reduce");
  if (cmd == ReduceCmd::Idle && c.has(REDUCE_RES))
    c.fail("REDUCE-CMD", REDUCE_RES, "with idle the accumulator registers may be clobbered and cannot be read", "idle",
           "reset, reduce, reset_reduce");
}

static void execute(Exec &x) {
  const AluOp op0 = static_cast<AluOp>(x.integer(COMP0)), op1 = static_cast<AluOp>(x.integer(COMP1));
  const auto cmd = static_cast<ReduceCmd>(x.integer(REDUCE_CMD));
  const Region &dst = x.region(DST), &data = x.region(DATA);
  const int64_t n = dst.elements;
  const float fill = x.number(FALSE_VALUE);
  std::vector<float> position(static_cast<size_t>(n)), in0(position), in1(position);
  for (int64_t i = 0; i < n; ++i)
    position[static_cast<size_t>(i)] = static_cast<float>(x.integer(START) + i);
  for (int p = 0; p < dst.partitions; ++p) {
    aluRowScalar(op0, position.data(), x.scalar(BOUND0, p), false, in0.data(), n);
    aluRowScalar(op1, position.data(), x.scalar(BOUND1, p), false, in1.data(), n);
    const float *in = x.readF32(DATA, p);
    float *out = x.writeF32(DST, p);
    for (int64_t i = 0; i < n; ++i)
      out[i] = in0[static_cast<size_t>(i)] != 0 && in1[static_cast<size_t>(i)] != 0 ? in[i] : fill;
    const float value = accumulate(x, cmd, AluOp::Max, data, p, out, n, 0); // fp32, before dst is rounded
    x.commitF32(DST, p);
    if (x.has(REDUCE_RES)) {
      *x.writeF32(REDUCE_RES, p) = value;
      x.commitF32(REDUCE_RES, p);
    }
  }
}

INSTRUCTION(range_select, "dst = data where range_start + i lies within two bounds, elsewhere the lowest fp32; and the "
                          "maximum of each partition.") {
  def.source("nki.isa API reference, range_select; cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .needs("range_select")
      .flow(Flow::Elementwise)
      .accumulates()
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "what is kept, a float type")
      .choice("comp_op0", aluOpNames(), "(range_start + i) comp_op0 bound0")
      .slot("bound0", SlotKind::In, "one fp32 element per partition")
      .choice("comp_op1", aluOpNames(), "(range_start + i) comp_op1 bound1")
      .slot("bound1", SlotKind::In, "one fp32 element per partition")
      .slot("range_start", SlotKind::Int, "position of the first element")
      .orElse(0)
      .slot("false_value", SlotKind::Float, "must be -3.4028235e38")
      .orElse(-FLT_MAX)
      .choice("reduce_cmd", reduceCmdNames(), "what happens to the accumulator registers; the reduction is max")
      .orElse(static_cast<int32_t>(ReduceCmd::ResetReduce))
      .slot("reduce_res", SlotKind::OptOut, "one element per partition: the registers afterwards");
  def.rules({"SAME-SHAPE", "PER-PARTITION-SCALAR", "ALU-OP", "RANGE-SELECT-FILL", "OPERAND-LIMIT", "REDUCE-CMD",
             "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) { return withReadout(q, streamCost(q, q.elements(DST), {DST, DATA}), REDUCE_RES); });
}

} // namespace glia
