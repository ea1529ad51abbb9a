// What only GpSimd computes: iotas, affine selections, gathers, reductions over partitions; and printing.
#include "Generator.h"

namespace glia::kernels {

// Pairs of step and count for n elements.
static std::vector<int32_t> affine(Generator &g, int64_t n) {
  const int64_t a = g.r.between(1, 4);
  const auto step = [&] { return static_cast<int32_t>(g.r.between(-3, 3)); };
  if (n % a == 0 && g.r.chance(50))
    return {step(), static_cast<int32_t>(a), step(), static_cast<int32_t>(n / a)};
  return {step(), static_cast<int32_t>(n)};
}

// Indices below `end`: an iota, a constant, an input that is in range, or whatever comes, clamped.
static Tile &indices(Generator &g, int core, DType t, int p, int64_t n, int64_t end) {
  Tile &index = g.allocate(core, Space::Sbuf, t, p, n);
  index.reserved = true;
  const int64_t form = g.r.below(4);
  if (form == 0 && n <= end) {
    Draft d(core, GPSIMD, "iota");
    d.out("dst", g.whole(index)).set("pattern", std::vector<int32_t>{1, static_cast<int32_t>(n)});
    d.set("offset", static_cast<int32_t>(g.r.below(end - n + 1)));
    g.add(d);
    return index;
  }
  const Hbm x = form == 1   ? g.rangedInput(t, {p, n}, 0, end - 1)
                : form == 2 ? g.constant(t, {p, n}, 0, end - 1)
                            : g.input(t, {p, n});
  Draft d(core, g.dmaEngine(), "dma_copy");
  d.out("dst", g.whole(index)).in("src", g.wholeOf(x));
  g.add(d);
  if (form == 3 || form == 0) {
    Draft clamp(core, VECTOR, "tensor_scalar");
    clamp.in("data", g.whole(index)).out("dst", g.whole(index));
    clamp.set("op0", "min").set("operand0", static_cast<float>(end - 1)).set("op1", "max").set("operand1", 0.0f);
    g.add(clamp);
  }
  return index;
}

static void localGather(Generator &g, int core) { // groups of 16 partitions
  const int q = static_cast<int>(g.r.between(1, 4)) * 16;
  const DType t = g.type(computeTypes());
  const int64_t each = int64_t{1} << g.r.below(3), columns = g.r.between(1, 2), length = each + g.r.between(1, 16);
  const int64_t valid = g.r.chance(50) ? 16 * columns : g.r.between(1, 16 * columns);
  Tile &from = g.source(core, Space::Sbuf, {t}, q, length);
  Tile &index = indices(g, core, DType::U16, q, columns, length - each + 1);
  Draft d(core, GPSIMD, "local_gather");
  d.in("src", g.view(from, {{1, length}}, 0, 0, q)).in("index", g.whole(index));
  d.set("num_elem_per_idx", static_cast<int32_t>(each)).set("num_valid_indices", static_cast<int32_t>(valid));
  g.out(d, "dst", {t}, q, valid * each);
  g.add(d);
}

void Generator::gpsimd(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 20);
  switch (r.below(has("nonzero_with_count") ? 7 : 6)) {
  case 0: {
    Draft d(core, GPSIMD, "iota");
    out(d, "dst", computeTypes(), p, n);
    d.set("pattern", affine(*this, n)).set("offset", static_cast<int32_t>(r.between(-5, 5)));
    d.set("channel_multiplier", static_cast<int32_t>(r.between(-2, 2)));
    add(d);
    return;
  }
  case 1: {
    Draft d(core, GPSIMD, "affine_select");
    static const Names comparisons = {"equal", "not_equal", "greater_equal", "greater"};
    in(d, "on_true", computeTypes(), p, n);
    out(d, "dst", floatTypes(), p, n);
    d.set("pattern", affine(*this, n)).set("on_false", 1.5f).set("cmp", r.pick(comparisons));
    d.set("offset", static_cast<int32_t>(r.between(-5, 5)));
    d.set("channel_multiplier", static_cast<int32_t>(r.between(-2, 2)));
    add(d);
    return;
  }
  case 2: return localGather(*this, core);
  case 3: {
    const DType t = type(computeTypes());
    const int64_t length = r.between(1, 20);
    Tile &from = source(core, Space::Sbuf, {t}, p, length);
    Tile &index = indices(*this, core, DType::U32, p, n, length);
    Draft d(core, GPSIMD, "nc_n_gather");
    d.in("data", randomView(from, p, length, true, true)).in("indices", whole(index));
    out(d, "dst", {t}, p, n);
    add(d);
    return;
  }
  case 4: {
    Draft d(core, GPSIMD, "tensor_partition_reduce");
    static const Names sums = {"add", "average", "max"}, bits = {"bitwise_or", "bitwise_and"};
    const DType t = type(computeTypes());
    const bool bit = isInteger(t) && r.chance(50);
    in(d, "data", {t}, p, n);
    out(d, "dst", bit ? Types{t} : computeTypes(), 1, n);
    d.set("op", bit ? r.pick(bits) : r.pick(sums));
    add(d);
    return;
  }
  case 5: {
    Draft d(core, VECTOR, "device_print"); // left to the compiler: what is printed comes in program order
    d.in("src", randomView(source(core, Space::Sbuf, computeTypes(), 1, n, true), 1, n, true, true)).set("prefix", "seen");
    add(d);
    return;
  }
  default: {
    static const Types types = {DType::F32, DType::I32};
    Tile &from = source(core, Space::Sbuf, types, p, n);
    Tile &to = allocate(core, Space::Sbuf, DType::I32, p, n + 1);
    if (inLoop() || to.pinned || r.chance(80))
      fill(to);
    Draft d(core, GPSIMD, "nonzero_with_count");
    d.in("src", randomView(from, p, n, true, true));
    d.set("index_offset", static_cast<int32_t>(r.below(9))).set("padding", int32_t{-1});
    if (d.undefined && to.pinned)
      return;
    d.inout("dst", whole(to));
    add(d);
  }
  }
}

} // namespace glia::kernels
