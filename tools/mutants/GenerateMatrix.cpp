// The Tensor engine: matmuls into PSUM, with accumulation, tiles and double rows, and transposes.
#include "Generator.h"

#include <algorithm>

namespace glia::mutants {

namespace {

DType like(Generator &g, DType t) { // a type that multiplies with t
  static const Types narrow = {DType::BF16, DType::F16, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4};
  static const Types wide = {DType::F32, DType::TF32};
  return g.r.pick(sizeOf(t) == 4 ? wide : narrow);
}

Buffer &filled(Generator &g, int core, DType t, int p, int64_t n) {
  Buffer &buf = g.source(core, Space::Sbuf, {t}, p, n);
  return buf;
}

} // namespace

static void transpose(Generator &g, int core) {
  const bool exact = g.has("exact_transpose");
  const DType t = g.r.pick(exact ? computeTypes() : floatTypes());
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 32);
  Buffer &from = filled(g, core, t, p, n);
  const bool byMatmul = g.r.chance(30) && isFloat(t) && p <= 64;
  Draft d(core, Engine::Tensor, byMatmul ? "nc_matmul" : "nc_transpose");
  d.undefined = !from.defined;
  d.op.in(byMatmul ? "stationary" : "data", g.randomView(from, p, n, true, true));
  if (byMatmul) {
    // Zero where the row is not the column, one elsewhere.
    Buffer &identity = g.allocate(core, Space::Sbuf, sizeOf(t) == 4 ? DType::F32 : DType::BF16, p, p);
    Op zero(core, Engine::GpSimd, "memset"), one(core, Engine::GpSimd, "affine_select");
    zero.out("dst", g.whole(identity));
    one.out("dst", g.whole(identity)).in("on_true", g.whole(identity)).set("pattern", std::vector<int32_t>{-1, p});
    one.set("on_false", 1.0f).set("cmp", "not_equal").set("channel_multiplier", int32_t{1});
    g.s.add(std::move(zero));
    g.s.add(std::move(one));
    identity.defined = true;
    d.op.in("moving", g.whole(identity)).set("transpose", int32_t{1});
  }
  const DType to = !exact ? DType::F32 : sizeOf(t) == 1 ? (isFloat(t) ? DType::BF16 : DType::U16) : t;
  Buffer &dst = g.allocate(core, Space::Psum, to, static_cast<int>(n), p);
  g.write(d, "dst", dst, g.whole(dst));
  g.add(d);
}

void Generator::matmul(int core) {
  if (r.chance(30))
    return transpose(*this, core);
  const bool doubleRow = has("double_row") && r.chance(20);
  static const Types fp8 = {DType::F8E4M3, DType::F8E5M2};
  static const Types types = {DType::F32,  DType::BF16,   DType::BF16,   DType::F16,
                              DType::TF32, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4};
  const int two = doubleRow ? 2 : 1;
  const DType a = type(doubleRow ? fp8 : types), c = doubleRow ? type(fp8) : like(*this, a);
  const int k = static_cast<int>(r.between(1, 32)), m = static_cast<int>(r.between(1, 32));
  const int64_t n = r.between(1, 24);
  const bool tiled = !doubleRow && r.chance(25);
  const int tile = target.integer("limit.tile_row_min") <= 32 && r.chance(50) ? 32 : 64;
  Buffer &dst = allocate(core, Space::Psum, has("bf16_psum") && r.chance(30) ? DType::BF16 : DType::F32, m, n);
  const int groups = static_cast<int>(r.between(1, 3));
  for (int i = 0; i < groups; ++i) { // the first overwrites, the others add
    Draft d(core, Engine::Tensor, "nc_matmul");
    Buffer *stationary, *moving;
    if (tiled) {
      stationary = &allocate(core, Space::Sbuf, a, k, m + r.below(4));
      const int first = stationary->first;
      moving = nullptr;
      for (int tries = 0; tries < 8 && (!moving || moving->first != first); ++tries)
        moving = &allocate(core, Space::Sbuf, c, k, n);
      if (first % tile || dst.first % tile || moving->first != first)
        return;
      fill(*stationary);
      fill(*moving);
      d.op.set("tile_rows", int32_t{tile})
          .set("tile_cols", int32_t{tile})
          .set("tile_row", int32_t{first})
          .set("tile_col", int32_t{dst.first});
    } else {
      stationary = &source(core, Space::Sbuf, {a}, k, two * m);
      moving = &source(core, Space::Sbuf, {c}, k, two * n);
    }
    if (doubleRow) {
      const auto M = static_cast<uint32_t>(m), N = static_cast<uint32_t>(n);
      d.op.in("stationary", view(*stationary, {{m, 2}, {1, M}}, 0, 0, k))
          .in("moving", view(*moving, {{static_cast<int32_t>(n), 2}, {1, N}}, 0, 0, k));
      d.op.set("perf_mode", "double_row");
    } else {
      d.op.in("stationary",
              tiled ? view(*stationary, {{1, static_cast<uint32_t>(m)}}) : randomView(*stationary, k, m, true, true));
      d.op.in("moving", tiled ? whole(*moving) : randomView(*moving, k, n, true, true));
    }
    d.undefined = !stationary->defined || !moving->defined || (i && !dst.defined);
    if (i) {
      d.op.touches.push_back(whole(dst).touch);
      d.op.set("accumulate", int32_t{1});
    }
    write(d, "dst", dst, whole(dst));
    add(d);
  }
}

} // namespace glia::mutants
