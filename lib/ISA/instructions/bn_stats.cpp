// Mean and spread of the even and of the odd elements of each partition, for bn_aggr to merge.
// fp32: mean = sum / count, then the sum of (x - mean)^2, both sums in the order of docs/numerics.md (assumed).
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>
#include <vector>

namespace glia {

enum { DST, DATA };
static constexpr int kOutputs = 6;

static void check(Check &c) {
  c.within(DST, "the number of elements per partition", c.operand(DST).elements(), kOutputs, kOutputs);
  c.within(DATA, "the number of elements per partition", c.operand(DATA).elements(), 1,
           c.target.integer("limit.bn_stats_free"));
  c.within(DST, "the number of partitions", c.operand(DST).partitions(), c.operand(DATA).partitions(),
           c.operand(DATA).partitions());
  checkComputeTypes(c, {DST, DATA});
}

// out = count, mean, sum of squared differences; zeros if there are no elements (assumed). `values` is scratch afterwards.
static void statistics(std::vector<float> &values, float *out) {
  const auto n = static_cast<int64_t>(values.size());
  out[0] = static_cast<float>(n);
  out[1] = out[2] = 0;
  if (!n)
    return;
  out[1] = alu(AluOp::Multiply, reduceRow(AluOp::Add, values.data(), n) / out[0], 1);
  aluRowScalar(AluOp::Subtract, values.data(), out[1], false, values.data(), n);
  aluRow(AluOp::Multiply, values.data(), values.data(), values.data(), n);
  out[2] = reduceRow(AluOp::Add, values.data(), n);
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const int64_t n = x.region(DATA).elements;
  std::vector<float> half;
  for (int p = 0; p < dst.partitions; ++p) {
    const float *in = x.readF32(DATA, p);
    float result[kOutputs];
    for (int odd = 0; odd < 2; ++odd) {
      half.clear();
      for (int64_t i = odd; i < n; i += 2)
        half.push_back(in[i]);
      statistics(half, result + 3 * odd);
    }
    std::copy(result, result + kOutputs, x.writeF32(DST, p));
    x.commitF32(DST, p);
  }
}

INSTRUCTION(bn_stats,
            "Six numbers per partition: count, mean, variance * count of the even elements, then of the odd ones.") {
  def.source("nki.isa API reference, bn_stats; cost: the reference of SDK 2.26; order of summation: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "six elements per partition")
      .slot("data", SlotKind::In, "input, at most limit.bn_stats_free elements per partition");
  def.rules({"OPERAND-LIMIT", "OPERAND-DTYPE"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return atEnd(streamCost(q, q.elements(DATA), {DATA}));
  });
}

} // namespace glia
