// What only GpSimd computes: iotas, affine selections, gathers, reductions over partitions; and printing.
#include "Generator.h"

namespace glia::mutants {

namespace {

// Pairs of step and count for n elements.
std::vector<int32_t> affine(Generator &g, int64_t n) {
  const int64_t a = g.r.between(1, 4);
  const auto step = [&] { return static_cast<int32_t>(g.r.between(-3, 3)); };
  if (n % a == 0 && g.r.chance(50))
    return {step(), static_cast<int32_t>(a), step(), static_cast<int32_t>(n / a)};
  return {step(), static_cast<int32_t>(n)};
}

// Indices below `end`: an iota, an input with a range, or whatever comes, clamped.
Buffer &indices(Generator &g, int core, DType t, int p, int64_t n, int64_t end) {
  Buffer &index = g.allocate(core, Space::Sbuf, t, p, n);
  index.reserved = index.defined = true;
  const int64_t form = g.r.below(3);
  if (form == 0 && n <= end) {
    Op op(core, Engine::GpSimd, "iota");
    op.out("dst", g.whole(index)).set("pattern", std::vector<int32_t>{1, static_cast<int32_t>(n)});
    op.set("offset", static_cast<int32_t>(g.r.below(end - n + 1)));
    g.s.add(std::move(op));
    return index;
  }
  const Hbm x = form == 1 ? g.rangedInput({p, n}, t, 0, end - 1) : g.tensor("x", TensorKind::Input, t, {p, n});
  const Engine e = static_cast<Engine>(g.dmaEngine(core));
  Op op = g.dma(core, e);
  op.out("dst", g.whole(index)).in("src", g.view(x, {{1, static_cast<uint32_t>(p * n)}})).queue(g.queue(core, e));
  g.s.add(std::move(op));
  if (form != 1) {
    Op clamp(core, Engine::Vector, "tensor_scalar");
    clamp.in("data", g.whole(index))
        .out("dst", g.whole(index))
        .set("op0", "min")
        .set("operand0", static_cast<float>(end - 1));
    clamp.set("op1", "max").set("operand1", 0.0f);
    g.s.add(std::move(clamp));
  }
  return index;
}

} // namespace

void Generator::gpsimd(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 20);
  switch (r.below(has("nonzero_with_count") ? 7 : 6)) {
  case 0: {
    Draft d(core, Engine::GpSimd, "iota");
    out(d, "dst", computeTypes(), p, n);
    d.op.set("pattern", affine(*this, n)).set("offset", static_cast<int32_t>(r.between(-5, 5)));
    d.op.set("channel_multiplier", static_cast<int32_t>(r.between(-2, 2)));
    add(d);
    return;
  }
  case 1: {
    Draft d(core, Engine::GpSimd, "affine_select");
    static const std::vector<const char *> comparisons = {"equal", "not_equal", "greater_equal", "greater"};
    in(d, "on_true", computeTypes(), p, n);
    out(d, "dst", floatTypes(), p, n);
    d.op.set("pattern", affine(*this, n)).set("on_false", 1.5f).set("cmp", r.pick(comparisons));
    d.op.set("offset", static_cast<int32_t>(r.between(-5, 5)))
        .set("channel_multiplier", static_cast<int32_t>(r.between(-2, 2)));
    add(d);
    return;
  }
  case 2: { // groups of 16 partitions
    const int q = static_cast<int>(r.between(1, 4)) * 16;
    const DType t = type(computeTypes());
    const int64_t each = int64_t{1} << r.below(3), columns = r.between(1, 2), length = each + r.between(1, 16);
    const int64_t valid = r.chance(50) ? 16 * columns : r.between(1, 16 * columns);
    Buffer &from = source(core, Space::Sbuf, {t}, q, length);
    Buffer &index = indices(*this, core, DType::U16, q, columns, length - each + 1);
    Draft d(core, Engine::GpSimd, "local_gather");
    d.undefined = !from.defined;
    d.op.in("src", view(from, {{1, static_cast<uint32_t>(length)}}, 0, 0, q)).in("index", whole(index));
    d.op.set("num_elem_per_idx", static_cast<int32_t>(each)).set("num_valid_indices", static_cast<int32_t>(valid));
    out(d, "dst", {t}, q, valid * each);
    add(d);
    return;
  }
  case 3: {
    const DType t = type(computeTypes());
    const int64_t length = r.between(1, 20);
    Buffer &from = source(core, Space::Sbuf, {t}, p, length);
    Buffer &index = indices(*this, core, DType::U32, p, n, length);
    Draft d(core, Engine::GpSimd, "nc_n_gather");
    d.undefined = !from.defined;
    d.op.in("data", randomView(from, p, length, true, true)).in("indices", whole(index));
    out(d, "dst", {t}, p, n);
    add(d);
    return;
  }
  case 4: {
    Draft d(core, Engine::GpSimd, "tensor_partition_reduce");
    static const std::vector<const char *> sums = {"add", "average", "max"}, bits = {"bitwise_or", "bitwise_and"};
    const DType t = type(computeTypes());
    const bool bit = isInteger(t) && r.chance(50);
    in(d, "data", {t}, p, n);
    out(d, "dst", bit ? Types{t} : computeTypes(), 1, n);
    d.op.set("op", bit ? r.pick(bits) : r.pick(sums));
    add(d);
    return;
  }
  case 5: {
    static const std::vector<Engine> engines = {Engine::Tensor, Engine::Vector, Engine::Scalar, Engine::GpSimd};
    Op op(core, r.pick(engines), "device_print");
    op.in("src", randomView(source(core, Space::Sbuf, computeTypes(), 1, n, true), 1, n, true, true))
        .set("prefix", std::string("seen"));
    s.add(std::move(op));
    return;
  }
  default: {
    static const Types types = {DType::F32, DType::I32};
    Buffer &from = source(core, Space::Sbuf, types, p, n);
    Buffer &to = allocate(core, Space::Sbuf, DType::I32, p, n + 1);
    if (r.chance(80))
      fill(to);
    Draft d(core, Engine::GpSimd, "nonzero_with_count");
    d.undefined = !from.defined || !to.defined;
    d.op.in("src", randomView(from, p, n, true, true));
    d.op.touches.push_back(whole(to).touch);
    d.op.set("index_offset", static_cast<int32_t>(r.below(9))).set("padding", int32_t{-1});
    write(d, "dst", to, whole(to));
    add(d);
  }
  }
}

} // namespace glia::mutants
