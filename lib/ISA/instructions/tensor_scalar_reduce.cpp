// data op0 operand0, and a reduction of each partition's results into the Vector engine's accumulator registers.
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"

namespace glia {

enum { DST, DATA, OP0, OPERAND0, REDUCE_OP, REDUCE_CMD, REDUCE_INIT, REDUCE_RES, NEGATE };

static void check(Check &c) {
  c.sameShape({DST, DATA});
  checkAluOp(c, OP0, kBinary | kUnary | kBypass);
  checkAluScalar(c, OP0, OPERAND0, DATA);
  const AluOp op = static_cast<AluOp>(c.integer(REDUCE_OP));
  if (op != AluOp::Add && op != AluOp::Multiply && op != AluOp::Max && op != AluOp::Min)
    c.fail("ALU-OP", REDUCE_OP,
           "reduce_op of tensor_scalar_reduce cannot be " + std::string(aluOpNames().names[static_cast<size_t>(op)]),
           std::string(aluOpNames().names[static_cast<size_t>(op)]), "add, multiply, max, min");
  const auto cmd = static_cast<ReduceCmd>(c.integer(REDUCE_CMD));
  if (cmd == ReduceCmd::Idle || cmd == ReduceCmd::Reset)
    c.fail("REDUCE-CMD", REDUCE_CMD, "tensor_scalar_reduce always reduces",
           std::string(reduceCmdNames().names[static_cast<size_t>(cmd)]), "reduce, reset_reduce, load_reduce");
  if (c.has(REDUCE_INIT) != (cmd == ReduceCmd::LoadReduce))
    c.fail("REDUCE-CMD", REDUCE_INIT,
           c.has(REDUCE_INIT) ? "reduce_init is given and reduce_cmd does not load it" : "load_reduce needs reduce_init",
           c.has(REDUCE_INIT) ? "given" : "none", c.has(REDUCE_INIT) ? "none" : "a number or a tensor");
  c.perPartition(REDUCE_INIT, DATA);
  c.perPartition(REDUCE_RES, DATA, true);
  checkComputeTypes(c, {DST, DATA, REDUCE_RES});
}

static void execute(Exec &x) {
  const AluOp op0 = static_cast<AluOp>(x.integer(OP0)), reduceOp = static_cast<AluOp>(x.integer(REDUCE_OP));
  const auto cmd = static_cast<ReduceCmd>(x.integer(REDUCE_CMD));
  const Region &dst = x.region(DST), &data = x.region(DATA);
  for (int p = 0; p < dst.partitions; ++p) {
    const float s = x.has(OPERAND0) ? x.scalar(OPERAND0, p) : 0, init = x.has(REDUCE_INIT) ? x.scalar(REDUCE_INIT, p) : 0;
    const float *in = x.readF32(DATA, p);
    float *out = x.writeF32(DST, p);
    aluRowScalar(op0, in, s, false, out, dst.elements);
    const float value = accumulate(x, cmd, reduceOp, data, p, out, dst.elements, init); // fp32, before dst is rounded
    x.commitF32(DST, p);
    if (x.has(REDUCE_RES)) {
      *x.writeF32(REDUCE_RES, p) = x.integer(NEGATE) ? alu(AluOp::Multiply, value, -1) : value;
      x.commitF32(REDUCE_RES, p);
    }
  }
}

INSTRUCTION(tensor_scalar_reduce,
            "dst = data op0 operand0, and the reduction of each partition of dst in the accumulator registers.") {
  def.source("nki.isa API reference, tensor_scalar_reduce; cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .flow(Flow::Elementwise)
      .accumulates()
      .slot("dst", SlotKind::Out, "element results")
      .slot("data", SlotKind::In, "input")
      .choice("op0", aluOpNames(), "operation")
      .slot("operand0", SlotKind::OptScalar, "a number, or one fp32 element per partition; none for one-operand operations")
      .choice("reduce_op", aluOpNames(), "reduction: add, multiply, max or min")
      .choice("reduce_cmd", reduceCmdNames(), "reduce, reset_reduce or load_reduce")
      .orElse(static_cast<int32_t>(ReduceCmd::ResetReduce))
      .slot("reduce_init", SlotKind::OptScalar, "load_reduce: what the registers start from")
      .slot("reduce_res", SlotKind::OptOut, "one element per partition: the registers afterwards")
      .slot("reduce_res_negate", SlotKind::Flag, "1: reduce_res times -1; the registers keep their sign")
      .orElse(0);
  def.rules({"SAME-SHAPE", "PER-PARTITION-SCALAR", "ALU-OP", "ALU-OPERAND", "REDUCE-CMD", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) {
        Cost c = streamCost(q, q.elements(DST), {DST, DATA});
        const double extra = q.param("cost.issue_floor") / q.clock(); // published whether or not the result is read out
        return Cost{c.busy + extra, c.latency + extra};
      });
}

} // namespace glia
