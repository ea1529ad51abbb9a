#include "glia/ISA/Transfer.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>

namespace glia {

enum { DST, SRC, SRC_INDEX, QUEUE, MIDDLE, INDEX_STRIDE, OOB, DGE };

static std::string num(int64_t v) { return format("%lld", (long long)v); }

// src is [rows, middle, columns] in row-major order, dst is [columns, middle, rows] with columns on partitions.
static void checkShape(Check &c, int64_t &rows) {
  const OperandInfo &d = c.operand(DST);
  checkElements(c, DST, SRC);
  const int64_t middle = c.integer(MIDDLE), columns = d.partitions();
  rows = middle > 0 && d.elements() % middle == 0 ? d.elements() / middle : 0;
  if (rows == 0)
    return c.fail("DMA-TRANSPOSE", MIDDLE,
                  format("dst has %lld elements per partition, which is no multiple of the middle size %lld",
                         (long long)d.elements(), (long long)middle),
                  num(middle), "a divisor");
  const int size = sizeOf(d.dtype());
  const Dge dge = static_cast<Dge>(c.integer(DGE));
  if (size != 2 && (size != 4 || dge != Dge::None || c.has(SRC_INDEX)))
    c.fail("DMA-TRANSPOSE", DST, format("elements of %d bytes", size), num(size),
           dge == Dge::None && !c.has(SRC_INDEX) ? "2 or 4" : "2");
  if (dge == Dge::Hwdge) {
    const bool power = rows == 1 || rows == 2 || rows == 4 || rows == 8 || rows == 16;
    if (middle == 1 ? rows != 16 : !power || rows * middle % 16 != 0)
      c.fail("DMA-TRANSPOSE", DGE,
             format("hwdge with %lld rows and a middle size of %lld", (long long)rows, (long long)middle), num(rows),
             middle == 1 ? "16" : "1, 2, 4, 8 or 16, times the middle size a multiple of 16");
  }
  if (columns > 128)
    c.fail("DMA-TRANSPOSE", DST, format("%lld columns", (long long)columns), num(columns), "128");
}

static void checkIndices(Check &c, int64_t rows) {
  const OperandInfo &index = c.operand(SRC_INDEX);
  c.types(SRC_INDEX, {DType::U32});
  if (!index.onChip())
    return;
  const int64_t P = index.partitions(), n = index.elements();
  if (rows % 16 != 0)
    c.fail("DMA-TRANSPOSE", SRC, format("an indexed transpose of %lld rows", (long long)rows), num(rows),
           "a multiple of 16");
  if (P % 16 != 0 || (n > 1 && P != 128))
    c.fail("DMA-TRANSPOSE", SRC_INDEX, format("indices on %lld partitions, %lld each", (long long)P, (long long)n), num(P),
           n > 1 ? "128" : "a multiple of 16");
  if (P * n < rows)
    c.fail("DMA-TRANSPOSE", SRC_INDEX, format("%lld indices for %lld rows", (long long)(P * n), (long long)rows), num(P * n),
           num(rows));
}

static void checkTranspose(Check &c) {
  c.in(DST, {Space::Sbuf});
  c.in(SRC, {Space::Sbuf, Space::Hbm});
  c.sameType(DST, SRC);
  if (!c.operand(DST).onChip())
    return;
  int64_t rows = 0;
  checkShape(c, rows);
  checkDge(c, DGE, {DST, SRC, SRC_INDEX}, c.has(SRC_INDEX), false);
  if (static_cast<Dge>(c.integer(DGE)) == Dge::Swdge && !c.has(SRC_INDEX))
    c.fail("DMA-TRANSPOSE", DGE, "software descriptor generation transposes indexed rows only", "swdge", "none or hwdge");
  if (!c.has(SRC_INDEX)) {
    if (static_cast<OutOfRange>(c.integer(OOB)) == OutOfRange::Skip)
      c.fail("DMA-INDEX", OOB, "only rows of an indexed transfer can be skipped", "skip", "error");
  } else if (rows > 0) {
    checkIndices(c, rows);
    checkIndex(c, SRC, SRC_INDEX, c.integer(INDEX_STRIDE), rows);
  }
}

// Rows of the source that lie in memory as one run each: where element 0 of row `r * middle + m` is, and the bytes between elements.
struct SourceRows {
  std::vector<const std::byte *> first;
  int64_t stride = 0;
};

static bool rowsAsRuns(const Region &src, int64_t rows, const Share &columns, int64_t pitch, SourceRows &out) {
  out.first.reserve(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    const RunCursor s(src, r * pitch + columns.begin);
    if (s.left() < columns.end - columns.begin || (r > 0 && s.stride() != out.stride))
      return false;
    out.stride = s.stride();
    out.first.push_back(s.at());
  }
  return true;
}

// A few columns at a time, so that what is gathered stays in a cache: rows of SBUF lie so far apart that they take turns in it.
template <class T>
static void turnRuns(const Region &dst, const Share &columns, int64_t middle, const std::vector<int64_t> &place,
                     const SourceRows &src) {
  constexpr int64_t kColumns = 32;
  const int64_t rows = static_cast<int64_t>(place.size()) / middle;
  std::vector<T> turned(static_cast<size_t>(kColumns * rows));
  for (int64_t m = 0; m < middle; ++m) {
    const int64_t *to = place.data() + m * rows;
    const bool together = std::adjacent_find(to, to + rows, [](int64_t a, int64_t b) {
                            return b - a != static_cast<int64_t>(sizeof(T));
                          }) == to + rows;
    for (int64_t c = columns.begin; c < columns.end; c += kColumns) {
      const int64_t n = std::min(kColumns, columns.end - c);
      for (int64_t r = 0; r < rows; ++r) {
        const std::byte *from = src.first[static_cast<size_t>(r * middle + m)] + (c - columns.begin) * src.stride;
        for (int64_t k = 0; k < n; ++k)
          std::memcpy(&turned[static_cast<size_t>(k * rows + r)], from + k * src.stride, sizeof(T));
      }
      for (int64_t k = 0; k < n; ++k) {
        std::byte *row = dst.row(static_cast<int>(c + k));
        const T *values = turned.data() + k * rows;
        if (together) {
          std::memcpy(row + to[0], values, static_cast<size_t>(rows) * sizeof(T));
          continue;
        }
        for (int64_t r = 0; r < rows; ++r)
          std::memcpy(row + to[r], values + r, sizeof(T));
      }
    }
  }
}

static void executeTranspose(Exec &x) {
  const Region &dst = x.region(DST), &src = x.region(SRC);
  const int size = sizeOf(dst.dtype);
  const int64_t columns = dst.partitions, middle = x.integer(MIDDLE), rows = dst.elements / middle;
  const Share share = shareOf(x, columns, columns); // dealt by destination partitions
  std::vector<int64_t> place(dst.elements);         // byte of each element of a destination row
  RunCursor walk(dst, 0);
  for (int64_t i = 0; i < dst.elements; ++i, walk.advance(1))
    place[i] = walk.offset;
  const bool indexed = x.has(SRC_INDEX);
  if (SourceRows runs; !indexed && !x.recorder && rowsAsRuns(src, dst.elements, share, columns, runs))
    return size == 2 ? turnRuns<uint16_t>(dst, share, middle, place, runs)
                     : turnRuns<uint32_t>(dst, share, middle, place, runs);
  IndexedRegion gathered = indexed ? indexedRegion(src, rows, x.integer(INDEX_STRIDE)) : IndexedRegion{};
  for (int64_t r = 0; r < rows; ++r) {
    if (indexed && !placeRow(x, gathered, src, SRC, indexAt(x, SRC_INDEX, r), static_cast<OutOfRange>(x.integer(OOB))))
      continue;
    const Region &from = indexed ? gathered.row : src;
    for (int64_t m = 0; m < middle; ++m) {
      RunCursor s(from, ((indexed ? 0 : r) * middle + m) * columns + share.begin);
      for (int64_t c = share.begin; c < share.end; ++c, s.advance(1)) {
        const int64_t to = place[m * rows + r];
        x.note(SRC, s.partition, from.start - src.start + s.offset, size, false);
        x.note(DST, static_cast<int>(c), to, size, true);
        std::memcpy(dst.row(static_cast<int>(c)) + to, s.at(), size);
      }
    }
  }
}

INSTRUCTION(dma_transpose, "dst[c, m, r] = src[r, m, c] by DMA: the first and the last dimension change places.") {
  def.source("nki.isa API reference, dma_transpose: axes (1, 0), (2, 1, 0) and (3, 1, 2, 0)")
      .everyEngine()
      .needs("dma_transpose")
      .unit(Unit::Dma)
      .flow(Flow::All)
      .slot("dst", SlotKind::Out, "destination in SBUF: c on partitions, then m, then r")
      .slot("src", SlotKind::In, "source in SBUF or HBM, of the same type")
      .slot("src_index", SlotKind::OptIn,
            "u32 in SBUF, [16..128, 1] or [128, n], read column by column: row r of src starts at its start + index[r] * "
            "index_stride")
      .slot("queue", SlotKind::Queue, "DMA queue")
      .slot("middle", SlotKind::Int, "size of m: the product of the dimensions between the first and the last")
      .orElse(1)
      .slot("index_stride", SlotKind::Int, "elements of src per index; 0 = the stride of its leading dimension")
      .orElse(0)
      .choice("oob", outOfRangeNames(), "an index out of range traps (error), or its row is not transferred (skip)")
      .orElse(0)
      .choice("dge", dgeNames(), "none, hwdge (16 rows of 2-byte elements), swdge (indexed)")
      .orElse(0);
  def.rules({"OPERAND-MEMORY", "OPERAND-DTYPE", "DMA-ELEMENTS", "DMA-TRANSPOSE", "DMA-INDEX", "DGE-MODE"})
      .check(checkTranspose);
  def.execute(executeTranspose);
  def.cost(issueCost);
}

} // namespace glia
