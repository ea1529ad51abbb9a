// The eight largest elements of each partition, for top-k together with nc_match_replace8.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>
#include <limits>

namespace glia {

enum { DST, SRC };
static constexpr int kCount = 8;

static void check(Check &c) {
  c.within(DST, "the number of elements per partition", c.operand(DST).elements(), kCount, kCount);
  c.within(SRC, "the number of elements per partition", c.operand(SRC).elements(), kCount,
           c.target.integer("limit.max8_free"));
  c.within(SRC, "the number of free dimensions", c.operand(SRC).pattern->rank, 0, 3);
  c.within(DST, "the number of partitions", c.operand(DST).partitions(), c.operand(SRC).partitions(),
           c.operand(SRC).partitions());
  checkComputeTypes(c, {DST, SRC});
}

// Insertion into a short sorted list: few elements get past the comparison with its last entry. Equal elements stay in order.
static void largest(const float *in, int64_t n, float *best) {
  int count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float v = in[i];
    if (v != v || (count == kCount && !(v > best[kCount - 1])))
      continue;
    int at = count < kCount ? count++ : kCount - 1;
    for (; at > 0 && v > best[at - 1]; --at)
      best[at] = best[at - 1];
    best[at] = v;
  }
  std::fill(best + count, best + kCount, std::numeric_limits<float>::quiet_NaN()); // NaN comes after every number
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  for (int p = 0; p < dst.partitions; ++p) {
    const float *in = x.readF32(SRC, p);
    float best[kCount];
    largest(in, x.region(SRC).elements, best);
    std::copy(best, best + kCount, x.writeF32(DST, p));
    x.commitF32(DST, p);
  }
}

INSTRUCTION(max8, "The eight largest elements of each partition, in descending order.") {
  def.source("nki.isa API reference, max8; cost: the reference of SDK 2.26; NaN after every number: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "eight elements per partition")
      .slot("src", SlotKind::In, "8 to limit.max8_free elements per partition, at most three free dimensions");
  def.rules({"OPERAND-LIMIT", "OPERAND-DTYPE"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return atEnd(streamCost(q, q.elements(SRC), {SRC}));
  });
}

} // namespace glia
