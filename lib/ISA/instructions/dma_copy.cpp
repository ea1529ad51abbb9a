#include "glia/ISA/Transfer.h"

namespace glia {

enum { DST, SRC, DST_INDEX, SRC_INDEX, QUEUE, INDEX_STRIDE, OOB, DGE };

// One row of the indexed side per index, dealt to the parts row by row.
static void copyIndexed(Exec &x) {
  const bool scatter = x.has(DST_INDEX);
  const int indexSlot = scatter ? DST_INDEX : SRC_INDEX;
  const Region &origin = x.region(scatter ? DST : SRC), &other = x.region(scatter ? SRC : DST);
  const int64_t count = static_cast<int64_t>(x.region(indexSlot).partitions) * x.region(indexSlot).elements;
  IndexedRegion indexed = indexedRegion(origin, count, x.integer(INDEX_STRIDE));
  const int64_t n = indexed.shape.rowElements;
  const Share share = shareOf(x, count, count);
  for (int64_t i = share.begin; i < share.end; ++i) {
    if (!placeRow(x, indexed, origin, scatter ? DST : SRC, indexAt(x, indexSlot, i),
                  static_cast<OutOfRange>(x.integer(OOB))))
      continue;
    if (scatter)
      copyElements(x, DST, indexed.row, 0, SRC, other, i * n, n);
    else
      copyElements(x, DST, other, i * n, SRC, indexed.row, 0, n);
  }
}

INSTRUCTION(dma_copy, "dst = src by DMA: element k of dst is element k of src, in row-major order, partitions outermost.") {
  def.source("nki.isa API reference, dma_copy; DGE deep dive")
      .everyEngine()
      .unit(Unit::Dma)
      .flow(Flow::Copy)
      .slot("dst", SlotKind::Out, "destination, in SBUF or HBM")
      .slot("src", SlotKind::In, "source, in SBUF or HBM, with as many elements; other types are cast through fp32")
      .slot("dst_index", SlotKind::OptIn,
            "scatter: i32 or u32 [P, 1] in SBUF; row i of dst starts at its start + index[i] * index_stride")
      .slot("src_index", SlotKind::OptIn, "gather: the same for src; only one side is indexed, and it is in HBM")
      .slot("queue", SlotKind::Queue, "DMA queue")
      .slot("index_stride", SlotKind::Int,
            "elements of the indexed tensor per index; 0 = the stride of its leading dimension")
      .orElse(0)
      .choice("oob", outOfRangeNames(), "an index out of range traps (error), or its row is not transferred (skip)")
      .orElse(0)
      .choice("dge", dgeNames(),
              "who makes the descriptors: before the run (none), GpSimd (swdge), the hardware block (hwdge)")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "DMA-ELEMENTS", "DMA-INDEX", "DGE-MODE"}).check([](Check &c) {
    c.in(DST, {Space::Sbuf, Space::Hbm});
    c.in(SRC, {Space::Sbuf, Space::Hbm});
    checkElements(c, DST, SRC);
    const bool indexed = c.has(DST_INDEX) || c.has(SRC_INDEX);
    checkDge(c, DGE, {DST, SRC, DST_INDEX, SRC_INDEX}, indexed, c.operand(DST).dtype() != c.operand(SRC).dtype());
    if (c.has(DST_INDEX) && c.has(SRC_INDEX))
      c.fail("DMA-INDEX", SRC_INDEX, "both sides are indexed", "2", "1");
    else if (indexed)
      checkIndex(c, c.has(DST_INDEX) ? DST : SRC, c.has(DST_INDEX) ? DST_INDEX : SRC_INDEX, c.integer(INDEX_STRIDE));
    else if (static_cast<OutOfRange>(c.integer(OOB)) == OutOfRange::Skip)
      c.fail("DMA-INDEX", OOB, "only rows of an indexed transfer can be skipped", "skip", "error");
  });
  def.execute([](Exec &x) {
    if (x.has(DST_INDEX) || x.has(SRC_INDEX))
      return copyIndexed(x);
    const Region &dst = x.region(DST), &src = x.region(SRC);
    const Share share = shareOf(x, transferRows(dst, src), dst.elements * dst.partitions);
    copyElements(x, DST, dst, share.begin, SRC, src, share.begin, share.end - share.begin);
  });
  def.cost(issueCost);
}

} // namespace glia
