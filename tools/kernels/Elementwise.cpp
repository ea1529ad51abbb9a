// Elementwise instructions, in place or not, on Vector, Scalar and GpSimd.
#include "Operations.h"

namespace glia::kernels {

void scalar(Generator &g, Draft &d, std::string_view slot, int p, const Types &types) {
  if (g.r.chance(60))
    d.set(slot, number(g));
  else
    g.in(d, slot, types, p, 1, false);
}
void firstOperation(Generator &g, Draft &d, int p) {
  if (g.r.chance(20)) {
    d.set("op0", unary(g));
  } else {
    d.set("op0", binary(g));
    scalar(g, d, "operand0", p);
  }
}

static const Types kNarrow = {DType::U8, DType::I8}, kHalf = {DType::I16, DType::U16}, kWord = {DType::I32, DType::U32};

static void inPlace(Generator &g, int core, int p, int64_t n) {
  Tile &x = g.source(core, g.r.chance(25) ? Space::Psum : Space::Sbuf, floatTypes(), p, n, true);
  if (g.inLoop() && x.sum && x.scope < g.loops.size())
    return;
  const View v = g.randomView(x, p, n, false, true);
  Draft d(core, VECTOR, "tensor_scalar");
  d.in("data", v).out("dst", v).set("op0", binary(g)).set("operand0", number(g));
  if (g.r.chance(50))
    d.set("op1", binary(g)).set("operand1", number(g)).set("reverse1", int32_t(g.r.below(2)));
  g.add(d);
}

static void bits(Generator &g, int core, int p, int64_t n) {
  const Types &types = g.r.chance(33) ? kNarrow : g.r.chance(50) ? kHalf : kWord;
  static const Names ops = {"bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"};
  const bool two = g.r.chance(50);
  Draft d(core, VECTOR, two ? "tensor_tensor" : "tensor_scalar");
  if (&types == &kWord && g.r.chance(40)) { // a float seen as bits
    Tile &f = g.source(core, Space::Sbuf, {DType::F32}, p, n);
    d.in(two ? "a" : "data", g.cast(g.randomView(f, p, n, true, true), DType::U32));
  } else {
    g.in(d, two ? "a" : "data", types, p, n);
  }
  if (two)
    g.in(d, "b", types, p, n);
  g.out(d, "dst", types, p, n);
  if (two)
    d.set("op", g.r.pick(ops));
  else
    d.set("op0", g.r.pick(ops)).set("operand0", static_cast<float>(g.r.below(7)));
  g.add(d);
}

static void scaled(Generator &g, int core, int p, int64_t n) {
  const bool onScalar = g.has("scalar_tensor_scalar") && g.r.chance(30), onGpSimd = !onScalar && g.r.chance(20);
  Draft d(core, onScalar ? SCALAR : onGpSimd ? GPSIMD : VECTOR, "tensor_scalar");
  g.in(d, "data", computeTypes(), p, n);
  if (onScalar) {
    d.set("op0", "multiply").set("operand0", number(g));
    if (g.r.chance(50)) {
      d.set("op1", "add");
      scalar(g, d, "operand1", p);
    }
  } else if (onGpSimd) {
    d.set("op0", "rsqrt");
  } else {
    firstOperation(g, d, p);
    if (g.r.chance(30))
      d.set("op1", unary(g));
  }
  g.out(d, "dst", computeTypes(), p, n);
  g.add(d);
}

static void predicated(Generator &g, int core, int p, int64_t n) {
  static const Types predicates = {DType::U8, DType::U16, DType::U32};
  Draft d(core, VECTOR, "tensor_copy_predicated");
  Tile &to = g.source(core, g.r.chance(25) ? Space::Psum : Space::Sbuf, computeTypes(), p, n, g.r.chance(90));
  if ((g.inLoop() && to.sum && to.scope < g.loops.size()) || (to.pinned && !to.defined))
    return;
  const View dst = g.randomView(to, p, n, false, true);
  if (g.r.chance(30) && isFloat(to.dtype)) {
    d.set("src", number(g));
  } else {
    Tile &from = g.allocate(core, Space::Sbuf, to.dtype, p, n);
    g.fill(from);
    d.in("src", g.randomView(from, p, n, true, true));
  }
  Tile &mask = g.allocate(core, Space::Sbuf, g.type(predicates), p, n);
  g.fill(mask);
  d.in("predicate", g.whole(mask)).set("reverse", int32_t(g.r.below(2)));
  d.inout("dst", dst);
  g.add(d);
}

void Generator::compute(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  switch (r.below(11)) {
  case 0:
  case 1: {
    const bool exact = r.chance(20), onGpSimd = exact || r.chance(30);
    Draft d(core, onGpSimd ? GPSIMD : VECTOR, "tensor_tensor");
    const Types &types = exact ? kWord : computeTypes();
    in(d, "a", types, p, n);
    in(d, "b", types, p, n);
    out(d, "dst", types, p, n);
    static const Names gp = {"add", "multiply", "power"}, whole = {"add", "subtract", "multiply", "max", "min", "greater"};
    d.set("op", exact ? r.pick(whole) : onGpSimd ? r.pick(gp) : binary(*this));
    add(d);
    return;
  }
  case 2: return inPlace(*this, core, p, n);
  case 3: return scaled(*this, core, p, n);
  case 4: return bits(*this, core, p, n);
  case 5: {
    Draft d(core, VECTOR, "scalar_tensor_tensor");
    in(d, "data", computeTypes(), p, n);
    in(d, "operand1", computeTypes(), p, n);
    firstOperation(*this, d, p);
    d.set("op1", binary(*this)).set("reverse1", int32_t(r.below(2)));
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 6:
  case 7: {
    std::vector<int> engines = {VECTOR, GPSIMD};
    if (has("scalar_tensor_copy"))
      engines.push_back(SCALAR);
    Draft d(core, r.pick(engines), "tensor_copy");
    in(d, "src", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 8: return predicated(*this, core, p, n);
  case 9: { // dst is exactly one of the sources
    Tile &x = source(core, Space::Sbuf, computeTypes(), p, n, true);
    const View v = randomView(x, p, n, false, true);
    Draft d(core, VECTOR, "tensor_tensor");
    d.in("a", v);
    const View other = randomView(source(core, Space::Sbuf, computeTypes(), p, n, true), p, n, true, true);
    if (overlap(v, other))
      d.in("b", v);
    else
      d.in("b", other);
    d.out("dst", v).set("op", binary(*this));
    add(d);
    return;
  }
  default: {
    Draft d(core, VECTOR, "reciprocal");
    in(d, "data", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, n);
    add(d);
  }
  }
}

} // namespace glia::kernels
