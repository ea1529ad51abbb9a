#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

#include <cmath>
#include <cstring>

namespace glia {

enum { DST, DATA, INDICES };

static void executeGather(Exec &x) {
  const Region &dst = x.region(DST), &data = x.region(DATA);
  const int size = sizeOf(dst.dtype);
  std::vector<std::byte> row(data.elements * size); // dst may be data itself
  for (int p = 0; p < dst.partitions; ++p) {
    std::memcpy(row.data(), x.readRaw(DATA, p), row.size());
    const int32_t *indices = x.readI32(INDICES, p);
    std::byte *out = x.writeRaw(DST, p);
    for (int64_t i = 0; i < dst.elements; ++i) {
      const uint32_t k = static_cast<uint32_t>(indices[i]);
      if (k >= data.elements)
        x.trap("GATHER-OOB",
               format("nc_n_gather: index %u in partition %d, element %lld; data have %lld elements per partition", k,
                      dst.firstPartition + p, (long long)i, (long long)data.elements));
      std::memcpy(out + i * size, row.data() + k * size, size);
    }
    x.commitRaw(DST, p);
  }
}

INSTRUCTION(nc_n_gather, "dst[p, i] = data[p, indices[p, i]], the free dimensions of data flattened.") {
  def.source("nki.isa API reference, nc_n_gather; an index out of range traps GATHER-OOB (assumed)")
      .engines({Engine::GpSimd})
      .flow(Flow::Row)
      .slot("dst", SlotKind::Out, "result in SBUF, of data's type")
      .slot("data", SlotKind::In, "what is gathered from, in SBUF")
      .slot("indices", SlotKind::In, "u32 in SBUF, dst's shape");
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "SAME-SHAPE", "GATHER-SHAPE"}).check([](Check &c) {
    for (int s : {DST, DATA, INDICES})
      c.in(s, {Space::Sbuf});
    c.sameType(DATA, DST);
    c.types(INDICES, {DType::U32});
    c.sameShape({DST, INDICES});
    if (c.operand(DATA).partitions() != c.operand(DST).partitions())
      c.fail("GATHER-SHAPE", DATA,
             format("data have %d partitions and dst %d", c.operand(DATA).partitions(), c.operand(DST).partitions()),
             format("%d", c.operand(DATA).partitions()), format("%d", c.operand(DST).partitions()));
  });
  def.execute(executeGather);
  // No published formula: one pass of at least 512 elements per group, each with its own start (assumed).
  def.cost([](const CostQuery &q) {
    const double groups = std::ceil(q.elements(DST) / 512);
    const Cost one = q.serial(std::fmin(q.elements(DST), 512));
    return Cost{one.busy * groups, one.latency * groups};
  });
}

} // namespace glia
