// f(data * scale + bias) in fp32 on the Scalar engine, with a sum along each partition into the accumulator registers.
// The function's table must be resident: the verifier and strict mode ask the target for the set of `fn`.
#include "glia/Numerics/Activation.h"
#include "glia/ISA/Accumulator.h"
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/Support/Diagnostic.h"

namespace glia {

enum { DST, DATA, FN, SCALE, BIAS, REDUCE_CMD, REDUCE_RES };

static void check(Check &c) {
  c.sameShape({DST, DATA});
  c.perPartition(SCALE, DATA);
  c.perPartition(BIAS, DATA, true);
  const OperandInfo &bias = c.operand(BIAS);
  if (bias.present && bias.immediate && bias.number != 0 && !c.target.has("activation_bias_immediate"))
    c.fail("ACTIVATION-BIAS", BIAS,
           format("%s takes a bias from memory only, not the number %g", c.target.name.c_str(), bias.number),
           format("%g", bias.number), "one element per partition");
  const auto fn = static_cast<ActFn>(c.integer(FN));
  if (bias.present && !(bias.immediate && bias.number == 0) && fn == ActFn::Reciprocal &&
      !c.target.has("activation_reciprocal_bias"))
    c.fail("ACTIVATION-BIAS", BIAS, format("reciprocal takes no bias on %s", c.target.name.c_str()), "given", "none");
  if (bias.present && !bias.immediate && bias.dtype() == DType::TF32)
    c.fail("OPERAND-DTYPE", BIAS, "the bias cannot be tf32", "tf32", "any other type");
  const auto cmd = static_cast<ReduceCmd>(c.integer(REDUCE_CMD));
  if (cmd == ReduceCmd::LoadReduce)
    c.fail("REDUCE-CMD", REDUCE_CMD, "activation cannot load its accumulator", "load_reduce",
           "idle, reset, reduce, reset_reduce");
  c.perPartition(REDUCE_RES, DATA, true);
  checkComputeTypes(c, {DST, DATA, BIAS, REDUCE_RES});
}

static void execute(Exec &x) {
  const auto fn = static_cast<ActFn>(x.integer(FN));
  const auto cmd = static_cast<ReduceCmd>(x.integer(REDUCE_CMD));
  const Region &dst = x.region(DST), &data = x.region(DATA);
  for (int p = 0; p < dst.partitions; ++p) {
    const float scale = x.scalar(SCALE, p), bias = x.has(BIAS) ? x.scalar(BIAS, p) : -0.0f; // adding -0 changes nothing
    const float *in = x.readF32(DATA, p);
    float *out = x.writeF32(DST, p);
    activationRow(fn, in, scale, bias, out, dst.elements);
    // The sum is over the fp32 results, before they are rounded to the type of dst.
    const float sum = accumulate(x, cmd, AluOp::Add, data, p, out, dst.elements, 0);
    x.commitF32(DST, p);
    if (x.has(REDUCE_RES)) {
      *x.writeF32(REDUCE_RES, p) = sum;
      x.commitF32(REDUCE_RES, p);
    }
  }
}

INSTRUCTION(activation, "dst = fn(data * scale + bias), and the sum of each partition in the accumulator registers.") {
  def.source("nki.isa API reference, activation; cost: the reference of SDK 2.26")
      .engines({Engine::Scalar})
      .flow(Flow::Elementwise)
      .accumulates()
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "input")
      .choice("fn", activationNames(), "the function; its table must be resident (act_table_load)")
      .slot("scale", SlotKind::Scalar, "a number, or one fp32 element per partition")
      .orElse(1.0f)
      .slot("bias", SlotKind::OptScalar,
            "one element per partition, or a number where the target has feature activation_bias_immediate")
      .choice("reduce_cmd", reduceCmdNames(), "what happens to the accumulator registers; the reduction is a sum")
      .orElse(static_cast<int32_t>(ReduceCmd::Idle))
      .slot("reduce_res", SlotKind::OptOut, "one element per partition: the registers afterwards");
  def.rules({"SAME-SHAPE", "PER-PARTITION-SCALAR", "ACTIVATION-BIAS", "REDUCE-CMD", "OPERAND-DTYPE"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) { return withReadout(q, streamCost(q, q.elements(DST), {DST, DATA}), REDUCE_RES); });
}

} // namespace glia
