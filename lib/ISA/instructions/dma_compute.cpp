#include "glia/ISA/Transfer.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>

namespace glia {

enum { DST, SRC0, SRC15 = SRC0 + 15, DST_INDEX, SRC_INDEX, QUEUE, INDEX_STRIDE, ACCUMULATE, OOB, DGE };

static void checkCompute(Check &c) {
  c.in(DST, {Space::Sbuf, Space::Hbm});
  const bool indexed = c.has(DST_INDEX) || c.has(SRC_INDEX);
  int64_t sources = 0;
  for (int s = SRC0; s <= SRC15; ++s) {
    if (!c.has(s))
      continue;
    ++sources;
    c.in(s, {Space::Sbuf, Space::Hbm});
    checkElements(c, DST, s);
    if (c.operand(s).pattern->numDynamic)
      c.fail("DMA-COMPUTE", s, "an address of dma_compute has a register in it", "1 register", "a fixed address");
  }
  if (c.operand(DST).pattern->numDynamic)
    c.fail("DMA-COMPUTE", DST, "an address of dma_compute has a register in it", "1 register", "a fixed address");
  const int64_t most = c.target.integer("dma.max_compute_sources");
  if (sources > most)
    c.fail("DMA-COMPUTE", SRC0, format("%lld sources", (long long)sources), format("%lld", (long long)sources),
           format("%lld", (long long)most));
  checkDge(c, DGE, {DST_INDEX, SRC_INDEX}, indexed, false);
  if (!indexed) {
    if (static_cast<Dge>(c.integer(DGE)) != Dge::None)
      c.fail("DMA-COMPUTE", DGE, "a sum that is not indexed uses prepared descriptors",
             std::string(dgeNames().names[c.integer(DGE)]), "none");
    if (c.integer(ACCUMULATE))
      c.fail("DMA-COMPUTE", ACCUMULATE, "only an indexed sum adds to its destination; name it as a source instead", "1",
             "0");
    if (static_cast<OutOfRange>(c.integer(OOB)) == OutOfRange::Skip)
      c.fail("DMA-INDEX", OOB, "only rows of an indexed transfer can be skipped", "skip", "error");
    return;
  }
  if (c.has(DST_INDEX) && c.has(SRC_INDEX))
    return c.fail("DMA-INDEX", SRC_INDEX, "both sides are indexed", "2", "1");
  if (sources != 1 || !c.integer(ACCUMULATE))
    c.fail("DMA-COMPUTE", SRC0,
           format("an indexed sum adds one source to dst, and there are %lld sources with accumulate=%d", (long long)sources,
                  c.integer(ACCUMULATE)),
           format("%lld", (long long)sources), "1, accumulate=1");
  checkIndex(c, c.has(DST_INDEX) ? DST : SRC0, c.has(DST_INDEX) ? DST_INDEX : SRC_INDEX, c.integer(INDEX_STRIDE));
}

// Adds n elements of `src` from srcFirst to fp32 values.
static void add(Exec &x, int slot, const Region &src, int64_t first, float *sum, int64_t n, bool start) {
  const int size = sizeOf(src.dtype);
  const int64_t shift = src.start - x.region(slot).start;
  RunCursor s(src, first);
  float values[256];
  while (n > 0) {
    const int64_t run = std::min<int64_t>({n, s.left(), 256});
    for (int64_t i = 0; x.recorder && i < run; ++i)
      x.note(slot, s.partition, shift + s.offset + i * s.stride(), size, false);
    loadF32(src.dtype, s.at(), s.stride(), values, run);
    for (int64_t i = 0; i < run; ++i)
      sum[i] = start ? values[i] : sum[i] + values[i];
    s.advance(run);
    sum += run;
    n -= run;
  }
}

static void store(Exec &x, const Region &dst, int64_t first, const float *sum, int64_t n) {
  const int size = sizeOf(dst.dtype);
  const int64_t shift = dst.start - x.region(DST).start;
  RunCursor d(dst, first);
  while (n > 0) {
    const int64_t run = std::min(n, d.left());
    for (int64_t i = 0; x.recorder && i < run; ++i)
      x.note(DST, d.partition, shift + d.offset + i * d.stride(), size, true);
    storeF32(dst.dtype, sum, d.at(), d.stride(), run);
    d.advance(run);
    sum += run;
    n -= run;
  }
}

static void sumIndexed(Exec &x) {
  const bool scatter = x.has(DST_INDEX);
  const int indexSlot = scatter ? DST_INDEX : SRC_INDEX, slot = scatter ? DST : SRC0;
  const Region &origin = x.region(slot);
  const int64_t count = x.region(indexSlot).partitions;
  IndexedRegion rows = indexedRegion(origin, count, x.integer(INDEX_STRIDE));
  const int64_t n = rows.shape.rowElements;
  std::vector<float> sum(n);
  const Share share = shareOf(x, count, count);
  for (int64_t i = share.begin; i < share.end; ++i) {
    if (!placeRow(x, rows, origin, slot, indexAt(x, indexSlot, i), static_cast<OutOfRange>(x.integer(OOB))))
      continue;
    const Region &dst = scatter ? rows.row : x.region(DST), &src = scatter ? x.region(SRC0) : rows.row;
    add(x, DST, dst, scatter ? 0 : i * n, sum.data(), n, true);
    add(x, SRC0, src, scatter ? i * n : 0, sum.data(), n, false);
    store(x, dst, scatter ? 0 : i * n, sum.data(), n);
  }
}

static void executeCompute(Exec &x) {
  if (x.has(DST_INDEX) || x.has(SRC_INDEX))
    return sumIndexed(x);
  const Region &dst = x.region(DST);
  const int64_t elements = dst.elements * dst.partitions;
  const Share share = shareOf(x, transferRows(dst, x.region(SRC0)), elements);
  float sum[1024];
  for (int64_t k = share.begin; k < share.end; k += std::size(sum)) {
    const int64_t n = std::min<int64_t>(share.end - k, std::size(sum));
    bool start = true;
    for (int s = SRC0; s <= SRC15; ++s)
      if (x.has(s)) {
        add(x, s, x.region(s), k, sum, n, start);
        start = false;
      }
    store(x, dst, k, sum, n);
  }
}

INSTRUCTION(dma_compute, "dst = src0 + src1 + ... by DMA, in fp32, from left to right; indexed: dst += src0 row by row.") {
  def.source("nki.isa API reference, dma_compute (add only, scales of 1); order of the sum chosen")
      .everyEngine()
      .unit(Unit::Dma)
      .flow(Flow::Copy)
      .accumulates("accumulate")
      .slot("dst", SlotKind::Out, "destination, in SBUF or HBM")
      .slot("src0", SlotKind::In, "first source, in SBUF or HBM, with as many elements as dst");
  static constexpr std::string_view kMore[] = {"src1", "src2",  "src3",  "src4",  "src5",  "src6",  "src7", "src8",
                                               "src9", "src10", "src11", "src12", "src13", "src14", "src15"};
  for (std::string_view s : kMore)
    def.slot(s, SlotKind::OptIn, "further source");
  def.slot("dst_index", SlotKind::OptIn,
           "scatter: i32 or u32 [P, 1] in SBUF, all different; row i of dst (HBM) starts at its start + index[i] * "
           "index_stride")
      .slot("src0_index", SlotKind::OptIn, "gather: the same for src0 (HBM)")
      .slot("queue", SlotKind::Queue, "DMA queue")
      .slot("index_stride", SlotKind::Int,
            "elements of the indexed tensor per index; 0 = the stride of its leading dimension")
      .orElse(0)
      .slot("accumulate", SlotKind::Flag, "1: dst is the first term of the sum (indexed sums, and only these)")
      .orElse(0)
      .choice("oob", outOfRangeNames(), "an index out of range traps (error), or its row is left alone (skip)")
      .orElse(0)
      .choice("dge", dgeNames(), "none; indexed: swdge")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "DMA-ELEMENTS", "DMA-COMPUTE", "DMA-INDEX", "DGE-MODE"}).check(checkCompute);
  def.execute(executeCompute);
  def.cost(issueCost);
}

} // namespace glia
