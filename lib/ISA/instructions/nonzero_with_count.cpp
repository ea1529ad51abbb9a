#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"

#include <algorithm>

namespace glia {

enum { DST, SRC, INDEX_OFFSET, PADDING };
static constexpr int kGroup = 16; // partitions of one GpSimd core; each works on its first

static void executeNonzero(Exec &x) {
  const Region &src = x.region(SRC);
  const int64_t n = src.elements;
  std::vector<int32_t> out(n + 1);
  for (int p = 0; p < src.partitions; ++p) {
    if ((src.firstPartition + p) % kGroup)
      continue;
    int32_t count = 0;
    const uint32_t offset = static_cast<uint32_t>(x.integer(INDEX_OFFSET));
    auto found = [&](int64_t i) { out[count++] = static_cast<int32_t>(offset + static_cast<uint32_t>(i)); };
    if (src.dtype == DType::F32) {
      const float *v = x.readF32(SRC, p);
      for (int64_t i = 0; i < n; ++i)
        if (v[i] != 0) // a NaN is not zero
          found(i);
    } else {
      const int32_t *v = x.readI32(SRC, p);
      for (int64_t i = 0; i < n; ++i)
        if (v[i] != 0)
          found(i);
    }
    std::fill(out.begin() + count, out.end() - 1, x.integer(PADDING));
    out[n] = count;
    std::copy(out.begin(), out.end(), x.writeI32(DST, p));
    x.commitI32(DST, p);
  }
}

INSTRUCTION(nonzero_with_count,
            "In partitions 0, 16, 32 ...: the positions of non-zero elements, padding, and last their number.") {
  def.source("nki.isa API reference, nonzero_with_count")
      .engines({Engine::GpSimd})
      .needs("nonzero_with_count")
      .flow(Flow::Row)
      .slot("dst", SlotKind::InOut,
            "i32 in SBUF, one element longer than src; partitions that are no multiple of 16 stay as they are")
      .slot("src", SlotKind::In, "f32 or i32 in SBUF")
      .slot("index_offset", SlotKind::Int, "added to every position")
      .orElse(0)
      .slot("padding", SlotKind::Int, "fills the places after the positions")
      .orElse(-1);
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "OPERAND-LIMIT"}).check([](Check &c) {
    c.in(DST, {Space::Sbuf});
    c.in(SRC, {Space::Sbuf});
    c.types(DST, {DType::I32});
    c.types(SRC, {DType::F32, DType::I32});
    const OperandInfo &d = c.operand(DST), &s = c.operand(SRC);
    c.within(DST, "the number of partitions", d.partitions(), s.partitions(), s.partitions());
    c.within(DST, "the number of elements per partition", d.elements(), s.elements() + 1, s.elements() + 1);
    c.within(DST, "its first partition, from src's, modulo 16", (d.partition - s.partition) % kGroup, 0, 0);
  });
  def.execute(executeNonzero);
  def.cost([](const CostQuery &q) { return q.serial(2 * q.elements(SRC)); }); // no published formula: two passes (assumed)
}

} // namespace glia
