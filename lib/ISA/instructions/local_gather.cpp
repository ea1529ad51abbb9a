#include "glia/ISA/Check.h"
#include "glia/ISA/Cost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>

namespace glia {

enum { DST, SRC, INDEX, ELEMENTS, VALID };
static constexpr int kGroup = 16; // partitions of one GpSimd core

static std::string num(int64_t v) { return format("%lld", (long long)v); }
static int64_t validIndices(int64_t given, int64_t perPartition) { return given > 0 ? given : perPartition * kGroup; }

static void checkGather(Check &c) {
  for (int s : {DST, SRC, INDEX})
    c.in(s, {Space::Sbuf});
  c.sameType(SRC, DST);
  c.types(INDEX, {DType::U16});
  const OperandInfo &d = c.operand(DST), &s = c.operand(SRC), &index = c.operand(INDEX);
  if (!d.onChip() || !s.onChip() || !index.onChip())
    return;
  for (int slot : {SRC, INDEX})
    if (c.operand(slot).partitions() != d.partitions())
      c.fail("GATHER-SHAPE", slot, format("%d partitions and dst has %d", c.operand(slot).partitions(), d.partitions()),
             num(c.operand(slot).partitions()), num(d.partitions()));
  if (d.partitions() % kGroup)
    c.fail("GATHER-SHAPE", DST, format("%d partitions", d.partitions()), num(d.partitions()), "a multiple of 16");
  const int64_t e = c.integer(ELEMENTS), all = index.elements() * kGroup,
                valid = validIndices(c.integer(VALID), index.elements());
  if (e < 1 || e > 32 || (e & (e - 1)))
    c.fail("GATHER-SHAPE", ELEMENTS, format("%lld elements per index", (long long)e), num(e), "1, 2, 4, 8, 16 or 32");
  const int64_t most = c.target.integer("limit.local_gather_indices");
  if (c.integer(VALID) < 0 || valid > all || valid > most)
    c.fail("GATHER-SHAPE", VALID, format("%lld indices in a group that has %lld", (long long)valid, (long long)all),
           num(valid), num(std::min(all, most)));
  if (valid * e != d.elements())
    c.fail(
        "GATHER-SHAPE", DST,
        format("dst has %lld elements per partition and %lld are gathered", (long long)d.elements(), (long long)(valid * e)),
        num(d.elements()), num(valid * e));
}

static void executeGather(Exec &x) {
  const Region &dst = x.region(DST), &src = x.region(SRC), &index = x.region(INDEX);
  const int size = sizeOf(dst.dtype);
  const int64_t e = x.integer(ELEMENTS), valid = validIndices(x.integer(VALID), index.elements);
  std::vector<uint32_t> flat(index.elements * kGroup);
  std::vector<std::byte> row(src.elements * size); // dst may be src itself
  for (int first = 0; first < dst.partitions; first += kGroup) {
    for (int p = 0; p < kGroup; ++p) { // partition first, then along the free dimension
      const int32_t *column = x.readI32(INDEX, first + p);
      for (int64_t i = 0; i < index.elements; ++i)
        flat[i * kGroup + p] = static_cast<uint32_t>(column[i]);
    }
    for (int p = first; p < first + kGroup; ++p) {
      std::memcpy(row.data(), x.readRaw(SRC, p), row.size());
      std::byte *out = x.writeRaw(DST, p);
      for (int64_t i = 0; i < valid; ++i) {
        if (flat[i] + e > src.elements)
          x.trap("GATHER-OOB", format("local_gather: index %u (number %lld of partitions %d to %d) reads %lld elements; src "
                                      "has %lld per partition",
                                      flat[i], (long long)i, dst.firstPartition + first,
                                      dst.firstPartition + first + kGroup - 1, (long long)e, (long long)src.elements));
        std::memcpy(out + i * e * size, row.data() + flat[i] * size, e * size);
      }
      x.commitRaw(DST, p);
    }
  }
}

INSTRUCTION(local_gather,
            "Each group of 16 partitions gathers runs of elements; the group's indices, column by column, serve all 16.") {
  def.source("nki.isa API reference, local_gather: indices are element offsets; an index out of range traps GATHER-OOB "
             "(assumed)")
      .engines({Engine::GpSimd})
      .flow(Flow::All)
      .slot("dst", SlotKind::Out,
            "result in SBUF, of src's type: num_valid_indices * num_elem_per_idx elements per partition")
      .slot("src", SlotKind::In, "what is gathered from, in SBUF")
      .slot("index", SlotKind::In, "u16 in SBUF, as many partitions as src")
      .slot("num_elem_per_idx", SlotKind::Int, "consecutive elements per index: 1, 2, 4, 8, 16 or 32")
      .orElse(1)
      .slot("num_valid_indices", SlotKind::Int, "indices of a group that are used; 0 = all")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "GATHER-SHAPE"}).check(checkGather);
  def.execute(executeGather);
  def.cost([](const CostQuery &q) {
    const double e = std::max(1, q.integer(ELEMENTS)), bytes = sizeOf(q.dtype(SRC));
    const double c = (28 + 4 * e) / (4 * e) / std::min(4 / bytes, e);
    return q.serial(q.elements(DST) * c);
  });
}

} // namespace glia
