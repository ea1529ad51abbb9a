// The Tensor engine: matmuls into PSUM, with accumulation, tiles and double rows, and transposes.
#include "Generator.h"

namespace glia::kernels {

static DType like(Generator &g, DType t) { // a type that multiplies with t
  static const Types narrow = {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4};
  static const Types wide = {DType::F32, DType::TF32};
  return g.r.pick(sizeOf(t) == 4 ? wide : narrow);
}

void Generator::transpose(int core) {
  const bool exact = has("exact_transpose");
  const DType type = r.pick(exact ? computeTypes() : floatTypes());
  const int p = partitions();
  const int64_t n = r.between(1, 32);
  Tile &from = source(core, Space::Sbuf, {type}, p, n);
  const bool byMatmul = r.chance(30) && isFloat(type) && p <= 64;
  Draft d(core, TENSOR, byMatmul ? "nc_matmul" : "nc_transpose");
  d.in(byMatmul ? "stationary" : "data", randomView(from, p, n, true, true));
  if (byMatmul) {
    // Zero where the row is not the column, one elsewhere.
    Tile &identity = allocate(core, Space::Sbuf, sizeOf(type) == 4 ? DType::F32 : DType::BF16, p, p);
    Draft zero(core, GPSIMD, "memset"), one(core, GPSIMD, "affine_select");
    zero.out("dst", whole(identity));
    add(zero);
    one.in("on_true", whole(identity)).out("dst", whole(identity)).set("pattern", std::vector<int32_t>{-1, p});
    one.set("on_false", 1.0f).set("cmp", "not_equal").set("channel_multiplier", int32_t{1});
    add(one);
    d.in("moving", whole(identity)).set("transpose", int32_t{1});
  }
  const DType to = !exact ? DType::F32 : sizeOf(type) == 1 ? (isFloat(type) ? DType::BF16 : DType::U16) : type;
  Tile &dst = allocate(core, Space::Psum, to, static_cast<int>(n), p);
  d.out("dst", whole(dst));
  d.matmul = byMatmul && !exact;
  d.open = byMatmul;
  add(d);
}

namespace {

struct Shape {
  DType a, b;
  int k, m;
  int64_t n;
  bool doubleRow;
};

// The two operands of a matmul.
void operands(Generator &g, Draft &d, const Shape &s) {
  if (!s.doubleRow) {
    d.in("stationary", g.randomView(g.source(d.core, Space::Sbuf, {s.a}, s.k, s.m), s.k, s.m, true, true));
    d.in("moving", g.randomView(g.source(d.core, Space::Sbuf, {s.b}, s.k, s.n), s.k, s.n, true, true));
    return;
  }
  Tile &a = g.source(d.core, Space::Sbuf, {s.a}, s.k, 2 * s.m), &b = g.source(d.core, Space::Sbuf, {s.b}, s.k, 2 * s.n);
  d.in("stationary", g.view(a, {{s.m, 2}, {1, s.m}}, 0, 0, s.k)).in("moving", g.view(b, {{s.n, 2}, {1, s.n}}, 0, 0, s.k));
  d.set("perf_mode", "double_row");
}

} // namespace

void Generator::matmul(int core) {
  if (r.chance(30))
    return transpose(core);
  static const Types fp8 = {DType::F8E4M3, DType::F8E5M2};
  static const Types types = {DType::F32,  DType::BF16,   DType::BF16,   DType::F16,
                              DType::TF32, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4};
  Shape s;
  s.doubleRow = has("double_row") && r.chance(20);
  s.a = type(s.doubleRow ? fp8 : types);
  s.b = s.doubleRow ? type(fp8) : like(*this, s.a);
  s.k = static_cast<int>(r.between(1, 32));
  s.m = static_cast<int>(r.between(1, 32));
  s.n = r.between(1, 24);
  // Onto a sum that is there already, or into a new tile.
  std::vector<Tile *> sums;
  for (Tile &x : tiles)
    if (x.sum && !x.dead && x.defined && !x.reserved && x.core == core && x.space == Space::Psum && x.partitions <= 128)
      sums.push_back(&x);
  const bool onto = !sums.empty() && r.chance(50);
  Tile *dst = onto ? r.pick(sums)
                   : &allocate(core, Space::Psum, has("bf16_psum") && r.chance(30) ? DType::BF16 : DType::F32, s.m, s.n);
  s.m = dst->partitions;
  s.n = dst->elements;
  const bool tiled = !s.doubleRow && !onto && r.chance(20);
  const int tile = target.integer("limit.tile_row_min") <= 32 && r.chance(50) ? 32 : 64;
  const int64_t times = r.between(1, 3);
  for (int64_t i = 0; i < times; ++i) { // the first overwrites, the others add
    Draft d(core, TENSOR, "nc_matmul");
    d.matmul = true;
    const bool adds = i > 0 || onto;
    if (tiled) {
      Tile &a = allocate(core, Space::Sbuf, s.a, s.k, s.m), &b = allocate(core, Space::Sbuf, s.b, s.k, s.n);
      if (a.first != b.first || a.first % tile || dst->first % tile)
        return;
      fill(a);
      fill(b);
      d.in("stationary", whole(a)).in("moving", whole(b));
      d.set("tile_rows", int32_t{tile}).set("tile_cols", int32_t{tile});
      d.set("tile_row", int32_t{a.first}).set("tile_col", int32_t{dst->first});
    } else {
      operands(*this, d, s);
    }
    if (d.undefined && (dst->pinned || onto))
      return;
    if (adds) {
      d.inout("dst", whole(*dst)).set("accumulate", int32_t{1});
    } else {
      d.out("dst", whole(*dst));
    }
    add(d);
    if (adds && s.n > 1 && r.chance(25) && !s.doubleRow) { // a part of it once more
      const int64_t part = r.between(1, s.n - 1), from = r.below(s.n - part + 1);
      Draft more(core, TENSOR, "nc_matmul");
      more.matmul = true;
      Shape small = s;
      small.n = part;
      operands(*this, more, small);
      if (more.undefined)
        return;
      more.inout("dst", view(*dst, {{1, part}}, from)).set("accumulate", int32_t{1});
      add(more);
    }
  }
}

} // namespace glia::kernels
