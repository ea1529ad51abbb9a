// Replaces the first place of each of eight values, so that the next max8 finds the next eight.
// Values are compared as fp32 (assumed); a place is matched at most once; NaN matches nothing.
#include "glia/ISA/AluRules.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>
#include <cstring>

namespace glia {

enum { DST, DATA, VALS, IMM, DST_IDX };
static constexpr int kCount = 8;

static void check(Check &c) {
  const int partitions = c.operand(DATA).partitions();
  c.sameShape({DST, DATA});
  c.within(VALS, "the number of elements per partition", c.operand(VALS).elements(), kCount, kCount);
  c.within(VALS, "the number of partitions", c.operand(VALS).partitions(), partitions, partitions);
  c.within(DATA, "the number of elements per partition", c.operand(DATA).elements(), 1, c.target.integer("limit.max8_free"));
  if (c.has(DST_IDX)) {
    c.types(DST_IDX, {DType::U16, DType::U32});
    c.within(DST_IDX, "the number of elements per partition", c.operand(DST_IDX).elements(), kCount, kCount);
    c.within(DST_IDX, "the number of partitions", c.operand(DST_IDX).partitions(), partitions, partitions);
  }
  checkComputeTypes(c, {DST, DATA, VALS});
}

// Values are taken from the last to the first, so of equal ones the last gets the first place.
static void match(const float *data, int64_t n, const float *vals, int32_t *out) {
  bool open[kCount];
  std::fill(open, open + kCount, true);
  std::fill(out, out + kCount, -1);
  int left = kCount;
  for (int64_t i = 0; i < n && left; ++i)
    for (int k = kCount - 1; k >= 0; --k)
      if (open[k] && data[i] == vals[k]) {
        open[k] = false;
        out[k] = static_cast<int32_t>(i);
        --left;
        break;
      }
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const int64_t n = dst.elements;
  for (int p = 0; p < dst.partitions; ++p) {
    const float *data = x.readF32(DATA, p), *vals = x.readF32(VALS, p);
    int32_t found[kCount];
    match(data, n, vals, found);
    float *out = x.writeF32(DST, p);
    if (out != data)
      std::memcpy(out, data, static_cast<size_t>(n) * sizeof(float));
    for (int32_t i : found)
      if (i >= 0)
        out[i] = x.number(IMM);
    x.commitF32(DST, p);
    if (x.has(DST_IDX)) {
      std::copy(found, found + kCount, x.writeI32(DST_IDX, p));
      x.commitI32(DST_IDX, p);
    }
  }
}

INSTRUCTION(nc_match_replace8, "dst = data with the first place of each of eight values replaced by imm.") {
  def.source("nki.isa API reference, nc_match_replace8; an index of all ones for a value that is not there: assumed, as "
             "nc_find_index8; "
             "cost: the reference of SDK 2.26, reading its min() as max()")
      .engines({Engine::Vector})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "result")
      .slot("data", SlotKind::In, "input, at most limit.max8_free elements per partition")
      .slot("vals", SlotKind::In, "eight values per partition; of equal ones the last takes the first place")
      .slot("imm", SlotKind::Float, "what replaces them")
      .slot("dst_idx", SlotKind::OptOut, "eight indices per partition, u16 or u32: where the values were");
  def.rules({"SAME-SHAPE", "OPERAND-DTYPE", "OPERAND-LIMIT"}).check(check).execute(execute).cost([](const CostQuery &q) {
    return atEnd(streamCost(q, q.elements(DATA), {DST, DATA}));
  });
}

} // namespace glia
