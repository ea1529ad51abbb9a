// Transfers: copies in all directions, casts, sums, transposes, gathers and scatters.
#include "Generator.h"

#include <algorithm>

namespace glia::kernels {

// Bytes of a type that nothing computes on, in and out again, and from HBM to HBM.
static void passThrough(Generator &g, int core) {
  static const Types types = {DType::I64, DType::U64, DType::F8E4M3FN, DType::F32, DType::U8};
  const DType t = g.type(types);
  const int64_t rows = g.r.between(1, 40), n = g.r.between(1, 9);
  const Hbm x = t == DType::F8E4M3FN ? g.constant(t, {rows, n}) : g.input(t, {rows, n});
  const Hbm y = g.inLoop() ? g.scratch(t, {rows, n}) : g.output(t, {rows, n});
  Draft d(core, g.dmaEngine(), "dma_copy");
  if (g.r.chance(50)) { // transposed on the way
    d.out("dst", g.view(y, {{n, rows}, {1, n}}));
    d.in("src", g.r.chance(50) ? g.view(x, {{1, rows}, {rows, n}}) : g.randomView(x, rows, n, n, true));
  } else {
    Tile &tile = g.allocate(core, Space::Sbuf, t, static_cast<int>(rows), n);
    tile.reserved = true;
    Draft load(core, g.dmaEngine(), "dma_copy");
    load.out("dst", g.whole(tile)).in("src", g.randomView(x, rows, n, n, true));
    g.add(load);
    d.out("dst", g.view(y, {{n, rows}, {1, n}})).in("src", g.whole(tile));
  }
  g.dge(d, false);
  g.add(d);
}

// Parts of an output that begins as an input are read, and written.
static void update(Generator &g, int core) {
  static const Types types = {DType::F32, DType::BF16, DType::I32, DType::U8};
  const DType t = g.type(types);
  const int64_t rows = g.r.between(2, 24), n = g.r.between(1, 9);
  const Hbm y = g.updated(t, {rows, n});
  for (int64_t times = g.r.between(1, 4); times > 0; --times) {
    const int p = static_cast<int>(g.r.between(1, rows));
    const View part = g.view(y, {{n, p}, {1, n}}, n * g.r.below(rows - p + 1));
    Draft d(core, g.dmaEngine(), "dma_copy");
    if (g.r.chance(50)) {
      Tile &to = g.allocate(core, Space::Sbuf, t, p, n);
      d.in("src", part).out("dst", g.whole(to));
    } else {
      d.in("src", g.randomView(g.source(core, Space::Sbuf, {t}, p, n, true), p, n, true, false)).out("dst", part);
    }
    g.dge(d, false);
    g.add(d);
  }
}

static void transposed(Generator &g, int core) {
  const DType t = g.r.chance(50) ? DType::BF16 : DType::F32;
  const int e = g.dmaEngine();
  const bool hwdge = t == DType::BF16 && g.has("hwdge") && (e == SYNC || e == SCALAR) && g.r.chance(50);
  const int64_t rows = hwdge ? 16 : g.r.between(1, 20), middle = hwdge || g.r.chance(60) ? 1 : g.r.between(2, 3);
  const int columns = static_cast<int>(g.r.between(1, 32));
  const Hbm x = g.input(t, {rows, middle, columns});
  Tile &to = g.allocate(core, Space::Sbuf, t, columns, rows * middle);
  Draft d(core, e, "dma_transpose");
  d.in("src", g.wholeOf(x)).out("dst", g.whole(to)).set("middle", static_cast<int32_t>(middle));
  if (hwdge)
    d.set("dge", "hwdge");
  g.add(d);
}

// A column of row numbers below `rows`; all different if asked.
static Tile &rowNumbers(Generator &g, int core, DType t, int p, int64_t rows, bool unique) {
  Tile &index = g.allocate(core, Space::Sbuf, t, p, 1);
  index.reserved = true;
  const int64_t kind = g.r.below(unique ? 1 : 4);
  if (kind == 0) {
    Draft d(core, GPSIMD, "iota");
    d.out("dst", g.whole(index)).set("pattern", std::vector<int32_t>{0, 1}).set("channel_multiplier", int32_t{1});
    d.set("offset", static_cast<int32_t>(g.r.below(rows - p + 1)));
    g.add(d);
    return index;
  }
  const Hbm x = kind == 1   ? g.rangedInput(t, {p, 1}, 0, rows - 1)
                : kind == 2 ? g.constant(t, {p, 1}, 0, rows - 1)
                            : g.input(t, {p, 1});
  Draft d(core, g.dmaEngine(), "dma_copy");
  d.out("dst", g.whole(index)).in("src", g.wholeOf(x));
  g.add(d);
  if (kind == 3) {
    Draft clamp(core, VECTOR, "tensor_scalar");
    clamp.in("data", g.whole(index)).out("dst", g.whole(index));
    clamp.set("op0", "max").set("operand0", 0.0f).set("op1", "min").set("operand1", static_cast<float>(rows - 1));
    g.add(clamp);
  }
  return index;
}

// dst[c, r] = x[index[r], c], by DMA.
void Generator::transposedRows(int core) {
  const int64_t rows = 16 * r.between(1, 2), all = rows + r.below(8);
  const int columns = static_cast<int>(r.between(1, 32));
  const Hbm x = input(DType::BF16, {all, columns});
  Tile &index = rowNumbers(*this, core, DType::U32, static_cast<int>(rows), all, false);
  Tile &to = allocate(core, Space::Sbuf, DType::BF16, columns, rows);
  Draft d(core, GPSIMD, "dma_transpose");
  d.in("src", view(x, {{columns, rows}, {1, columns}})).in("src_index", whole(index)).out("dst", whole(to));
  if (r.chance(50))
    d.set("dge", "swdge");
  add(d);
}

// From SBUF through a scratch tensor back to SBUF, a copy within SBUF, a sum, or a transpose.
void Generator::transfer(int core) {
  if (r.chance(12))
    return update(*this, core);
  const int p = partitions();
  const int64_t n = r.between(1, 24), form = r.below(has("dma_transpose") ? 8 : 5);
  if (form == 4)
    return passThrough(*this, core);
  if (form == 5)
    return transposed(*this, core);
  if (form == 6 && has("swdge_indirect"))
    return transposedRows(core);
  if (form >= 6)
    return gather(core);
  if (form <= 1) {
    Tile &from = source(core, Space::Sbuf, computeTypes(), p, n);
    const bool casts = r.chance(20);
    const Hbm h = scratch(casts ? type(computeTypes()) : from.dtype, {p, n + 2}, r.chance(60));
    Draft there(core, dmaEngine(), "dma_copy");
    there.in("src", randomView(from, p, n, true, false)).out("dst", view(h, {{n + 2, p}, {1, n}}, 1));
    dge(there, casts);
    add(there);
    Tile &to = allocate(core, Space::Sbuf, r.chance(80) ? h.dtype : type(computeTypes()), p, n);
    if (there.undefined && to.pinned)
      return;
    Draft back(core, dmaEngine(), "dma_copy");
    back.in("src", view(h, {{n + 2, p}, {1, n}}, 1));
    back.undefined = there.undefined;
    back.out("dst", whole(to));
    dge(back, to.dtype != h.dtype);
    add(back);
    return;
  }
  Draft d(core, dmaEngine(), form == 3 ? "dma_compute" : "dma_copy");
  Tile &from = source(core, Space::Sbuf, computeTypes(), p, n);
  if (form == 2) {
    d.in("src", randomView(from, p, n, true, false));
    const View dst = out(d, "dst", computeTypes(), p, n, false);
    dge(d, dst.operand.dtype != from.dtype);
  } else {
    static const char *const slots[] = {"src0", "src1", "src2", "src3", "src4"};
    const int64_t terms = r.between(1, 5);
    for (int64_t i = 0; i < terms; ++i)
      if (r.chance(50))
        d.in(slots[i], randomView(from, p, n, true, false));
      else
        d.in(slots[i], randomView(input(type(computeTypes()), {p, n}), p, n, n, true));
    out(d, "dst", computeTypes(), p, n, false);
  }
  add(d);
}

// Rows of a tensor in HBM by index; then perhaps stored or added by index.
void Generator::gather(int core) {
  if (!has("swdge_indirect"))
    return passThrough(*this, core);
  const int p = static_cast<int>(r.between(1, 4)) * 16;
  const int64_t rows = p + r.below(20), n = r.between(1, 12);
  const bool scatter = r.chance(50), skip = r.chance(20);
  Tile &index = rowNumbers(*this, core, r.chance(50) ? DType::I32 : DType::U32, p, rows, scatter);
  if (!scatter) {
    const DType type = this->type(computeTypes());
    const Hbm x = input(type, {rows, n});
    Tile &to = allocate(core, Space::Sbuf, type, p, n);
    if (skip)
      fill(to);
    Draft d(core, GPSIMD, "dma_copy");
    d.in("src", view(x, {{n, p}, {1, n}})).in("src_index", whole(index)).set("index_stride", static_cast<int32_t>(n));
    if (skip)
      d.set("oob", "skip");
    if (r.chance(50))
      d.set("dge", "swdge");
    d.out("dst", whole(to));
    add(d);
    return;
  }
  // A scratch tensor is cleared, rows are stored or added by index, and all of it goes out, or back.
  const DType type = this->type(floatTypes());
  const bool sum = r.chance(40);
  const Hbm h = scratch(type, {rows, n});
  zero(h, core);
  Tile &from = source(core, Space::Sbuf, {type}, p, n, true);
  Draft d(core, GPSIMD, sum ? "dma_compute" : "dma_copy");
  d.in(sum ? "src0" : "src", randomView(from, p, n, true, false)).in("dst_index", whole(index));
  d.inout("dst", view(h, {{n, p}, {1, n}})).set("index_stride", static_cast<int32_t>(n));
  if (sum)
    d.set("accumulate", int32_t{1});
  if (skip)
    d.set("oob", "skip");
  if (r.chance(50))
    d.set("dge", "swdge");
  add(d);
  Draft last(core, dmaEngine(), "dma_copy");
  last.in("src", wholeOf(h));
  if (inLoop() || rows > 128 || r.chance(40)) {
    const int back = static_cast<int>(std::min<int64_t>(rows, 128));
    last.reads.clear();
    last.values.clear();
    last.in("src", view(h, {{n, back}, {1, n}}));
    last.out("dst", whole(allocate(core, Space::Sbuf, type, back, n)));
  } else {
    last.out("dst", wholeOf(output(type, {rows, n})));
  }
  add(last);
}

} // namespace glia::kernels
