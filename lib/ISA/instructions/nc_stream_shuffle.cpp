// Moves whole partitions inside each quadrant of 32: the only cross-partition path of the Vector engine besides its transpose.
#include "glia/ISA/Check.h"
#include "glia/ISA/EngineCost.h"
#include "glia/ISA/Exec.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace glia {

enum { DST, SRC, MASK };
static constexpr int kQuadrant = 32;
static constexpr uint32_t kKeep = 255;

// rule SHUFFLE-MASK: 32 entries, each 255 or a partition that src has in every quadrant where dst takes from it.
static void checkMask(Check &c) {
  const auto mask = c.list(MASK);
  if (mask.size() != kQuadrant) {
    c.fail("SHUFFLE-MASK", MASK, format("the mask has %zu entries", mask.size()), format("%zu", mask.size()), "32");
    return;
  }
  for (int i = 0; i < kQuadrant; ++i)
    if (const uint32_t m = mask[static_cast<size_t>(i)]; m != kKeep && m >= kQuadrant) {
      c.fail("SHUFFLE-MASK", MASK, format("entry %d of the mask is %d", i, static_cast<int>(m)),
             format("%d", static_cast<int>(m)), "0 to 31, or 255");
      return;
    }
  for (int p = 0; p < c.operand(DST).partitions(); ++p) {
    const uint32_t m = mask[static_cast<size_t>(p % kQuadrant)];
    const int from = p / kQuadrant * kQuadrant + static_cast<int>(m);
    if (m != kKeep && from >= c.operand(SRC).partitions()) {
      c.fail(
          "SHUFFLE-MASK", MASK,
          format("partition %d of dst comes from partition %d of src, which has %d", p, from, c.operand(SRC).partitions()),
          format("%d", from), format("less than %d", c.operand(SRC).partitions()));
      return;
    }
  }
}

// rule SHUFFLE-START: both starts fit the quadrants that the larger operand needs.
static void checkStart(Check &c) {
  const int most = std::max(c.operand(SRC).partitions(), c.operand(DST).partitions());
  const int active = (most + kQuadrant - 1) / kQuadrant * kQuadrant;
  const int step = active <= 32 ? 32 : active <= 64 ? 64 : 128;
  for (int slot : {DST, SRC})
    if (const int start = c.operand(slot).partition; start % step)
      c.fail("SHUFFLE-START", slot,
             format("`%s` starts at partition %d and %d partitions are active",
                    std::string(c.operand(slot).objectName).c_str(), start, active),
             format("%d", start), step == 128 ? "0" : format("a multiple of %d", step));
}

static void check(Check &c) {
  c.sameType(DST, SRC);
  if (c.operand(DST).elements() != c.operand(SRC).elements())
    c.within(SRC, "the number of elements per partition", c.operand(SRC).elements(), c.operand(DST).elements(),
             c.operand(DST).elements());
  checkMask(c);
  checkStart(c);
}

static void execute(Exec &x) {
  const Region &dst = x.region(DST);
  const auto mask = x.list(MASK);
  const int64_t bytes = dst.elements * sizeOf(dst.dtype);
  std::vector<std::byte> rows(static_cast<size_t>(bytes) * kQuadrant); // dst may be src, so a quadrant is read first
  for (int q = 0; q < dst.partitions; q += kQuadrant) {
    const int end = std::min(kQuadrant, dst.partitions - q);
    for (int i = 0; i < end; ++i)
      if (const uint32_t m = mask[static_cast<size_t>(i)]; m != kKeep)
        std::memcpy(rows.data() + i * bytes, x.readRaw(SRC, q + static_cast<int>(m)), static_cast<size_t>(bytes));
    for (int i = 0; i < end; ++i)
      if (mask[static_cast<size_t>(i)] != kKeep) {
        std::memcpy(x.writeRaw(DST, q + i), rows.data() + i * bytes, static_cast<size_t>(bytes));
        x.commitRaw(DST, q + i);
      }
  }
}

INSTRUCTION(nc_stream_shuffle,
            "In each quadrant of 32 partitions, partition i of dst = partition mask[i] of src; 255 leaves it alone.") {
  def.source("nki.isa API reference, nc_stream_shuffle; cost: the reference of SDK 2.26; a mask entry beyond src is "
             "refused: assumed")
      .engines({Engine::Vector})
      .flow(Flow::Shuffle)
      .slot("dst", SlotKind::InOut, "result; partitions with mask 255 keep their value")
      .slot("src", SlotKind::In, "source, of the same type; it may have fewer partitions than dst")
      .slot("mask", SlotKind::Ints, "32 entries: 0 to 31, or 255 to keep");
  def.rules({"OPERAND-DTYPE", "OPERAND-LIMIT", "SHUFFLE-MASK", "SHUFFLE-START"})
      .check(check)
      .execute(execute)
      .cost([](const CostQuery &q) { return streamCost(q, q.elements(DST), {DST, SRC}); });
}

} // namespace glia
