// Where eight given values are in each partition. Values are compared as fp32 (assumed); NaN is found nowhere.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>

namespace glia {

enum { DST, DATA, VALS };
static constexpr int kCount = 8;

static void check(Check &c) {
  const int partitions = c.operand(DATA).partitions();
  c.types(DST, {DType::U16, DType::U32});
  c.within(DST, "the number of elements per partition", c.operand(DST).elements(), kCount, kCount);
  c.within(VALS, "the number of elements per partition", c.operand(VALS).elements(), kCount, kCount);
  c.within(DATA, "the number of elements per partition", c.operand(DATA).elements(), kCount,
           c.target.integer("limit.max8_free"));
  c.within(DATA, "the number of free dimensions", c.operand(DATA).pattern->rank, 0, 3);
  c.within(DST, "the number of partitions", c.operand(DST).partitions(), partitions, partitions);
  c.within(VALS, "the number of partitions", c.operand(VALS).partitions(), partitions, partitions);
  checkComputeTypes(c, {DATA, VALS});
}

// Equal values take the first, second, ... place in ascending order: one pass, each match goes to the first value still open.
static void find(const float *data, int64_t n, const float *vals, int32_t *out) {
  bool open[kCount];
  std::fill(open, open + kCount, true);
  std::fill(out, out + kCount, -1);
  int left = kCount;
  for (int64_t i = 0; i < n && left; ++i)
    for (int k = 0; k < kCount; ++k)
      if (open[k] && data[i] == vals[k]) {
        open[k] = false;
        out[k] = static_cast<int32_t>(i);
        --left;
        break;
      }
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  for (int p = 0; p < dst.partitions; ++p) {
    const float *data = x.readF32(DATA, p), *vals = x.readF32(VALS, p);
    int32_t found[kCount];
    find(data, x.region(DATA).elements, vals, found);
    std::copy(found, found + kCount, x.writeI32(DST, p));
    x.commitI32(DST, p);
  }
}

INSTRUCTION(nc_find_index8, "The index of each of eight values in its partition; all ones if it is not there.") {
  def.source("nki.isa API reference, nc_find_index8 and nc_match_replace8 (duplicates); cost: the reference of SDK 2.26")
      .engines({Engine::Vector})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "eight indices per partition, u16 or u32")
      .slot("data", SlotKind::In, "8 to limit.max8_free elements per partition, at most three free dimensions")
      .slot("vals", SlotKind::In, "eight values per partition; equal ones take successive places");
  def.rules({"OPERAND-DTYPE", "OPERAND-LIMIT"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return atEnd(streamCost(q, q.elements(DATA), {DATA}));
  });
}

} // namespace glia
