#include "glia/ISA/Transfer.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <algorithm>
#include <cstring>

namespace glia {

RunCursor::RunCursor(const Region &r, int64_t first) : region(&r) {
  for (int d = 0; d < r.rank; ++d) {
    if (r.counts[d] == 1 && r.rank > 1 && (rank > 0 || d + 1 < r.rank))
      continue;
    if (rank > 0 && strides[rank - 1] == r.strides[d] * r.counts[d]) {
      strides[rank - 1] = r.strides[d];
      counts[rank - 1] *= r.counts[d];
    } else {
      strides[rank] = r.strides[d];
      counts[rank++] = r.counts[d];
    }
  }
  if (rank == 0)
    strides[0] = sizeOf(r.dtype), counts[0] = 1, rank = 1;
  partition = static_cast<int>(first / r.elements);
  int64_t k = first % r.elements;
  for (int d = rank - 1; d >= 0; --d) {
    index[d] = k % counts[d];
    k /= counts[d];
    offset += index[d] * strides[d];
  }
}

void RunCursor::advance(int64_t n) {
  int d = rank - 1;
  index[d] += n;
  offset += n * strides[d];
  while (index[d] == counts[d]) {
    offset -= counts[d] * strides[d];
    index[d] = 0;
    if (--d < 0) {
      ++partition;
      return;
    }
    ++index[d];
    offset += strides[d];
  }
}

Share shareOf(const Exec &x, int64_t rows, int64_t elements) {
  if (rows <= 0)
    return {0, 0};
  auto firstRow = [&](int64_t part) { return (part * rows + x.parts - 1) / x.parts; };
  const int64_t perRow = elements / rows;
  return {firstRow(x.part) * perRow, firstRow(x.part + 1) * perRow};
}

int64_t transferRows(const Region &dst, const Region &src) {
  if (dst.space != Space::Hbm)
    return dst.partitions;
  return src.space != Space::Hbm ? src.partitions : dst.elements;
}

namespace {

template <class Word> void copyWords(std::byte *d, int64_t ds, const std::byte *s, int64_t ss, int64_t n) {
  for (int64_t i = 0; i < n; ++i, d += ds, s += ss) {
    Word w;
    std::memcpy(&w, s, sizeof w);
    std::memcpy(d, &w, sizeof w);
  }
}

void copyStrided(std::byte *d, int64_t ds, const std::byte *s, int64_t ss, int64_t n, int size) {
  switch (size) {
  case 1: return copyWords<uint8_t>(d, ds, s, ss, n);
  case 2: return copyWords<uint16_t>(d, ds, s, ss, n);
  case 4: return copyWords<uint32_t>(d, ds, s, ss, n);
  default: return copyWords<uint64_t>(d, ds, s, ss, n);
  }
}

void noteRun(Exec &x, int slot, const Region &r, const RunCursor &c, int64_t n, bool write) {
  if (!x.recorder)
    return;
  const int size = sizeOf(r.dtype);
  const int64_t shift = r.start - x.region(slot).start; // an indexed row is not where its operand starts
  if (c.stride() == size || n == 1)
    return x.note(slot, c.partition, shift + c.offset, n * size, write);
  for (int64_t i = 0; i < n; ++i)
    x.note(slot, c.partition, shift + c.offset + i * c.stride(), size, write);
}

} // namespace

void copyElements(Exec &x, int dstSlot, const Region &dst, int64_t dstFirst, int srcSlot, const Region &src,
                  int64_t srcFirst, int64_t n) {
  if (n <= 0)
    return;
  RunCursor d(dst, dstFirst), s(src, srcFirst);
  const int size = sizeOf(dst.dtype);
  const bool cast = dst.dtype != src.dtype;
  float values[512];
  while (n > 0) {
    int64_t run = std::min({n, d.left(), s.left()});
    if (cast)
      run = std::min<int64_t>(run, std::size(values));
    noteRun(x, srcSlot, src, s, run, false);
    noteRun(x, dstSlot, dst, d, run, true);
    if (cast) {
      loadF32(src.dtype, s.at(), s.stride(), values, run);
      storeF32(dst.dtype, values, d.at(), d.stride(), run);
    } else if (d.stride() == size && s.stride() == size) {
      std::memmove(d.at(), s.at(), run * size);
    } else {
      copyStrided(d.at(), d.stride(), s.at(), s.stride(), run, size);
    }
    d.advance(run);
    s.advance(run);
    n -= run;
  }
}

void zeroElements(const Region &dst) {
  const int64_t all = dst.elements * dst.partitions, size = sizeOf(dst.dtype);
  RunCursor at(dst, 0);
  for (int64_t done = 0; done < all;) {
    const int64_t n = at.left();
    for (int64_t i = 0; i < n; ++i)
      std::memset(at.at() + i * at.stride(), 0, static_cast<size_t>(size));
    at.advance(n);
    done += n;
  }
}

// ---- indexed rows --------------------------------------------------------------------------------------------------------

// Sums of products of hostile numbers: kept where int64 holds them.
static int64_t clampFar(__int128 v) {
  constexpr int64_t kFar = int64_t{1} << 60;
  return static_cast<int64_t>(std::clamp<__int128>(v, -kFar, kFar));
}

IndexedRows indexedRows(const Pattern &p, int64_t count, int64_t indexStride) {
  IndexedRows r;
  r.count = count;
  if (count <= 0 || p.rank == 0 || p.dims[0].count % count != 0)
    return r;
  r.ok = true;
  const int64_t inner = p.dims[0].count / count;
  r.stride = indexStride ? indexStride : clampFar(static_cast<__int128>(p.dims[0].stride) * inner);
  if (inner > 1 || p.rank == 1)
    r.dims[r.rank++] = {p.dims[0].stride, static_cast<uint32_t>(inner)};
  for (int d = 1; d < p.rank; ++d)
    r.dims[r.rank++] = p.dims[d];
  r.rowElements = 1;
  for (int d = 0; d < r.rank; ++d) {
    r.rowElements *= r.dims[d].count;
    int64_t &side = r.dims[d].stride < 0 ? r.low : r.high;
    side = clampFar(side + static_cast<__int128>(r.dims[d].stride) * (static_cast<int64_t>(r.dims[d].count) - 1));
  }
  ++r.high;
  return r;
}

IndexedRegion indexedRegion(const Region &r, int64_t count, int64_t indexStride) {
  const int size = sizeOf(r.dtype);
  Pattern p;
  p.dtype = r.dtype;
  p.rank = r.rank;
  for (int d = 0; d < r.rank; ++d)
    p.dims[d] = {static_cast<int32_t>(r.strides[d] / size), static_cast<uint32_t>(r.counts[d])};
  IndexedRegion out{r, indexedRows(p, count, indexStride)};
  out.row.rank = out.shape.rank;
  out.row.elements = out.shape.rowElements;
  for (int d = 0; d < out.shape.rank; ++d) {
    out.row.strides[d] = static_cast<int64_t>(out.shape.dims[d].stride) * size;
    out.row.counts[d] = out.shape.dims[d].count;
  }
  return out;
}

int64_t indexAt(Exec &x, int slot, int64_t i) {
  const Region &r = x.region(slot);
  RunCursor c(r, i % r.partitions * r.elements + i / r.partitions);
  noteRun(x, slot, r, c, 1, false);
  int32_t v;
  std::memcpy(&v, c.at(), 4);
  return r.dtype == DType::U32 ? static_cast<int64_t>(static_cast<uint32_t>(v)) : v;
}

bool placeRow(Exec &x, IndexedRegion &r, const Region &origin, int slot, int64_t index, OutOfRange mode) {
  const int size = sizeOf(origin.dtype);
  const __int128 to = static_cast<__int128>(index) * r.shape.stride * size;
  const int64_t first = clampFar(origin.start + to + static_cast<__int128>(r.shape.low) * size);
  const int64_t last = clampFar(origin.start + to + static_cast<__int128>(r.shape.high) * size);
  if (first < 0 || last > origin.objectBytes) {
    if (mode == OutOfRange::Skip)
      return false;
    x.trap("DGE-OOB",
           format("index %lld of `%s` (%s) addresses bytes %lld to %lld of a tensor of %lld bytes", (long long)index,
                  std::string(x.def->name).c_str(), std::string(x.def->slots[slot].name).c_str(), (long long)first,
                  (long long)last, (long long)origin.objectBytes));
  }
  const int64_t shift = static_cast<int64_t>(to);
  r.row.base = origin.base + shift;
  r.row.start = origin.start + shift;
  return true;
}

const EnumNames &outOfRangeNames() {
  static constexpr std::string_view kNames[] = {"error", "skip"};
  static constexpr EnumNames kEnum{"oob_mode", kNames};
  return kEnum;
}

const EnumNames &dgeNames() {
  static constexpr std::string_view kNames[] = {"none", "swdge", "hwdge"};
  static constexpr EnumNames kEnum{"dge_mode", kNames};
  return kEnum;
}

// ---- rules ---------------------------------------------------------------------------------------------------------------

void checkDge(Check &c, int dgeSlot, std::initializer_list<int> tensors, bool indexed, bool casts) {
  const Dge dge = static_cast<Dge>(c.integer(dgeSlot));
  const std::string mode(dgeNames().names[c.integer(dgeSlot)]);
  const std::string engineName(name(c.engine));
  bool dynamic = false;
  for (int s : tensors)
    dynamic |= c.has(s) && c.operand(s).pattern->numDynamic > 0;
  if (dge == Dge::Hwdge && !c.target.has("hwdge"))
    c.fail("DGE-MODE", dgeSlot, "the target has no hardware descriptor generation", mode, "none or swdge");
  else if (dge == Dge::Hwdge && c.engine != Engine::Scalar && c.engine != Engine::Sync)
    c.fail("DGE-MODE", dgeSlot, format("%s cannot start hardware descriptor generation", engineName.c_str()), engineName,
           "scalar or sync");
  if (dge == Dge::Swdge && c.engine != Engine::GpSimd)
    c.fail("DGE-MODE", dgeSlot, format("software descriptor generation runs on gpsimd and %s issues it", engineName.c_str()),
           engineName, "gpsimd");
  if (indexed && dge != Dge::Swdge)
    c.fail("DGE-MODE", dgeSlot, "an indexed transfer needs software descriptor generation", mode, "swdge");
  else if (dynamic && dge == Dge::None)
    c.fail("DGE-MODE", dgeSlot, "a register in an address needs descriptors made at run time", mode, "swdge or hwdge");
  if (casts && dge == Dge::Hwdge)
    c.fail("DGE-MODE", dgeSlot, "hardware descriptor generation does not convert types", mode, "none or swdge");
}

void checkIndex(Check &c, int indexedSlot, int indexSlot, int64_t indexStride, int64_t wanted) {
  if (!c.target.has("swdge_indirect"))
    return c.fail("DMA-INDEX", indexSlot, "the target has no indexed transfers", "indexed", "not indexed");
  const OperandInfo &index = c.operand(indexSlot), &data = c.operand(indexedSlot);
  c.in(indexSlot, {Space::Sbuf});
  c.types(indexSlot, {DType::I32, DType::U32});
  const std::string dataName(data.objectName);
  if (data.onChip())
    return c.fail("DMA-INDEX", indexedSlot,
                  format("`%s` is indexed and is in %s", dataName.c_str(), std::string(name(data.space)).c_str()),
                  std::string(name(data.space)), "hbm");
  if (!index.onChip())
    return;
  if (wanted == 0 && index.elements() != 1)
    return c.fail(
        "DMA-INDEX", indexSlot,
        format("`%s` has %lld indices per partition", std::string(index.objectName).c_str(), (long long)index.elements()),
        format("%lld", (long long)index.elements()), "1");
  const int64_t count = wanted ? wanted : index.partitions();
  const IndexedRows rows = indexedRows(*data.pattern, count, indexStride);
  if (!rows.ok)
    c.fail("DMA-INDEX", indexSlot,
           format("there are %lld indices and the leading dimension of `%s` has %u rows", (long long)count, dataName.c_str(),
                  data.pattern->rank ? data.pattern->dims[0].count : 0),
           format("%lld", (long long)count), "a divisor of the leading dimension");
  else if (rows.stride == 0)
    c.fail("DMA-INDEX", indexedSlot, format("the rows of `%s` are 0 elements apart", dataName.c_str()), "0", "1 or more");
}

void checkElements(Check &c, int dstSlot, int srcSlot) {
  const int64_t have = c.operand(srcSlot).pattern->elements(), want = c.operand(dstSlot).pattern->elements();
  if (have != want)
    c.fail("DMA-ELEMENTS", srcSlot,
           format("the source has %lld elements and the destination %lld", (long long)have, (long long)want),
           format("%lld", (long long)have), format("%lld", (long long)want));
}

Cost issueCost(const CostQuery &q) { return {q.param("cost.sync_latency"), q.param("cost.sync_latency")}; }

} // namespace glia
