// Merges (count, mean, variance * count) triples of bn_stats into one mean and variance.
// fp32, triples in ascending order: C = sum c, mean = sum(c * m) / C, variance = (sum v + sum c * (m - mean)^2) / C (assumed).
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

namespace glia {

enum { DST, DATA };

static void check(Check &c) {
  const OperandInfo &dst = c.operand(DST), &data = c.operand(DATA);
  c.within(DST, "the number of elements per partition", dst.elements(), 2, 2);
  c.within(DATA, "the number of elements per partition modulo 3", data.elements() % 3, 0, 0);
  c.within(DST, "the number of partitions", dst.partitions(), data.partitions(), data.partitions());
  checkComputeTypes(c, {DST, DATA});
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const int64_t n = x.region(DATA).elements;
  for (int p = 0; p < dst.partitions; ++p) {
    const float *in = x.readF32(DATA, p);
    float count = 0, sum = 0, spread = 0;
    for (int64_t i = 0; i < n; i += 3) {
      const float weighted = in[i] * in[i + 1];
      count += in[i];
      sum += weighted;
    }
    const float mean = sum / count;
    for (int64_t i = 0; i < n; i += 3) {
      const float d = in[i + 1] - mean, squared = d * d, weighted = in[i] * squared;
      spread += in[i + 2] + weighted;
    }
    float *out = x.writeF32(DST, p);
    out[0] = alu(AluOp::Multiply, mean, 1); // times one makes every NaN the same NaN
    out[1] = alu(AluOp::Multiply, spread / count, 1);
    x.commitF32(DST, p);
  }
}

INSTRUCTION(bn_aggr, "Mean and variance of each partition from the results of bn_stats.") {
  def.source("nki.isa API reference, bn_aggr; cost: the reference of SDK 2.26; order of summation: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "two elements per partition: mean, variance")
      .slot("data", SlotKind::In, "count, mean, variance * count, any number of times");
  def.rules({"OPERAND-LIMIT", "OPERAND-DTYPE"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return atEnd(streamCost(q, 13 * q.elements(DATA) / 3, {DATA}));
  });
}

} // namespace glia
