// Elementwise instructions, reductions and the other instructions of Vector, and what Scalar computes.
#include "Generator.h"

#include <algorithm>

namespace glia::mutants {

namespace {

float number(Generator &g) { return static_cast<float>(g.r.between(-12, 12)) / 4; }

// A number or one fp32 element per partition.
void scalar(Generator &g, Draft &d, const char *slot, int p, const Types &types = {DType::F32}) {
  if (g.r.chance(60))
    d.op.set(slot, number(g));
  else
    g.in(d, slot, types, p, 1, false);
}

// op0 with its operand.
void first(Generator &g, Draft &d, int p) {
  if (g.r.chance(20)) {
    d.op.set("op0", unary(g));
  } else {
    d.op.set("op0", binary(g));
    scalar(g, d, "operand0", p);
  }
}

} // namespace

void Generator::compute(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  const int form = static_cast<int>(r.below(12));
  static const Types narrow = {DType::U8, DType::I8}, half = {DType::I16, DType::U16}, word = {DType::I32, DType::U32};
  switch (form) {
  case 0:
  case 1: {
    const Engine e = r.chance(30) ? Engine::GpSimd : Engine::Vector;
    Draft d(core, e, "tensor_tensor");
    in(d, "a", computeTypes(), p, n);
    in(d, "b", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, n);
    static const Names gp = {"add", "multiply", "power"};
    d.op.set("op", e == Engine::GpSimd ? r.pick(gp) : binary(*this));
    add(d);
    return;
  }
  case 2: { // in place
    Buffer &buf = source(core, r.chance(25) ? Space::Psum : Space::Sbuf, floatTypes(), p, n);
    const Operand o = randomView(buf, p, n, false, true);
    Draft d(core, Engine::Vector, "tensor_scalar");
    d.undefined = !buf.defined;
    d.op.in("data", o);
    write(d, "dst", buf, o);
    d.op.set("op0", binary(*this)).set("operand0", number(*this));
    if (r.chance(50))
      d.op.set("op1", binary(*this)).set("operand1", number(*this)).set("reverse1", int32_t(r.below(2)));
    add(d);
    return;
  }
  case 3: {
    const bool onScalar = has("scalar_tensor_scalar") && r.chance(30), onGpSimd = !onScalar && r.chance(20);
    Draft d(core, onScalar ? Engine::Scalar : onGpSimd ? Engine::GpSimd : Engine::Vector, "tensor_scalar");
    in(d, "data", computeTypes(), p, n);
    if (onScalar) {
      d.op.set("op0", "multiply").set("operand0", number(*this));
      if (r.chance(50)) {
        d.op.set("op1", "add");
        scalar(*this, d, "operand1", p);
      }
    } else if (onGpSimd) {
      d.op.set("op0", "rsqrt");
    } else {
      first(*this, d, p);
      if (r.chance(30))
        d.op.set("op1", unary(*this));
    }
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 4: { // bits
    const Types &types = r.chance(33) ? narrow : r.chance(50) ? half : word;
    static const Names ops = {"bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"};
    const bool two = r.chance(50);
    Draft d(core, Engine::Vector, two ? "tensor_tensor" : "tensor_scalar");
    if (&types == &word && r.chance(40)) { // a float seen as bits
      Buffer &f = source(core, Space::Sbuf, {DType::F32}, p, n);
      d.undefined = !f.defined;
      d.op.in(two ? "a" : "data", cast(f, randomView(f, p, n, true, true), DType::U32));
    } else {
      in(d, two ? "a" : "data", types, p, n);
    }
    if (two)
      in(d, "b", types, p, n);
    out(d, "dst", types, p, n);
    if (two)
      d.op.set("op", r.pick(ops));
    else
      d.op.set("op0", r.pick(ops)).set("operand0", static_cast<float>(r.below(7)));
    add(d);
    return;
  }
  case 5: {
    Draft d(core, Engine::Vector, "scalar_tensor_tensor");
    in(d, "data", computeTypes(), p, n);
    in(d, "operand1", computeTypes(), p, n);
    first(*this, d, p);
    d.op.set("op1", binary(*this));
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 6: {
    const int64_t groups = r.between(1, 6), each = r.between(1, 6);
    Draft d(core, Engine::Vector, "tensor_reduce");
    static const Names sums = {"add", "subtract", "multiply", "max", "min", "logical_and", "logical_or", "logical_xor"};
    static const Names bits = {"bitwise_and", "bitwise_or", "bitwise_xor"};
    const bool bit = r.chance(25);
    in(d, "data", bit ? word : computeTypes(), p, groups * each);
    out(d, "dst", bit ? word : computeTypes(), p, groups);
    d.op.set("op", bit ? r.pick(bits) : r.pick(sums)).set("negate", int32_t(!bit && r.chance(30)));
    add(d);
    return;
  }
  case 7: {
    Draft d(core, Engine::Vector, "tensor_tensor_scan");
    in(d, "data0", computeTypes(), p, n);
    in(d, "data1", computeTypes(), p, n);
    scalar(*this, d, "initial", p, computeTypes());
    d.op.set("op0", binary(*this)).set("op1", binary(*this)).set("reverse0", int32_t(r.below(2)));
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 8: {
    Draft d(core, Engine::Vector, "tensor_scalar_reduce");
    in(d, "data", computeTypes(), p, n);
    first(*this, d, p);
    static const Names ops = {"add", "multiply", "max", "min"};
    d.op.set("reduce_op", r.pick(ops));
    if (r.chance(40)) {
      d.op.set("reduce_cmd", "load_reduce");
      scalar(*this, d, "reduce_init", p);
    }
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(70))
      out(d, "reduce_res", computeTypes(), p, 1, false);
    add(d);
    return;
  }
  case 9: {
    std::vector<Engine> engines = {Engine::Vector, Engine::GpSimd};
    if (has("scalar_tensor_copy"))
      engines.push_back(Engine::Scalar);
    Draft d(core, r.pick(engines), "tensor_copy");
    const Types &types = has("f8e4m3fn") ? newestTypes() : computeTypes();
    in(d, "src", types, p, n);
    out(d, "dst", types, p, n);
    add(d);
    return;
  }
  case 10: {
    Draft d(core, Engine::Vector, "tensor_copy_predicated");
    static const Types predicates = {DType::U8, DType::U16, DType::U32};
    Buffer &to = source(core, r.chance(25) ? Space::Psum : Space::Sbuf, computeTypes(), p, n);
    const Operand dst = randomView(to, p, n, false, true);
    const bool immediate = r.chance(30) && isFloat(to.dtype);
    if (immediate) {
      d.op.set("src", number(*this));
    } else {
      Buffer &from = allocate(core, Space::Sbuf, to.dtype, p, n);
      fill(from);
      d.op.in("src", randomView(from, p, n, true, true));
    }
    Buffer &mask = allocate(core, Space::Sbuf, type(predicates), p, n);
    fill(mask);
    d.op.in("predicate", whole(mask)).set("reverse", int32_t(r.below(2)));
    d.op.touches.push_back(dst.touch); // kept where the predicate is zero
    d.undefined |= !to.defined;
    write(d, "dst", to, dst);
    add(d);
    return;
  }
  default: {
    Draft d(core, Engine::Vector, "reciprocal");
    in(d, "data", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, n);
    add(d);
  }
  }
}

void Generator::vectorExtras(int core) {
  const int p = partitions();
  const int64_t n = r.between(8, 24);
  static const Types indices = {DType::U16, DType::U32};
  switch (r.below(has("range_select") ? 8 : 7)) {
  case 0: {
    Draft d(core, Engine::Vector, "bn_stats");
    in(d, "data", computeTypes(), p, n);
    out(d, "dst", {DType::F32}, p, 6);
    add(d);
    return;
  }
  case 1: {
    Draft d(core, Engine::Vector, "bn_aggr");
    in(d, "data", {DType::F32}, p, 6 * r.between(1, 2));
    out(d, "dst", {DType::F32, DType::BF16}, p, 2);
    add(d);
    return;
  }
  case 2: {
    Draft d(core, Engine::Vector, "max8");
    in(d, "src", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, 8);
    add(d);
    return;
  }
  case 3: {
    Draft d(core, Engine::Vector, "nc_find_index8");
    in(d, "data", computeTypes(), p, n);
    in(d, "vals", computeTypes(), p, 8);
    out(d, "dst", indices, p, 8);
    add(d);
    return;
  }
  case 4: {
    Draft d(core, Engine::Vector, "nc_match_replace8");
    in(d, "data", computeTypes(), p, n);
    in(d, "vals", computeTypes(), p, 8);
    d.op.set("imm", number(*this));
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(50))
      out(d, "dst_idx", indices, p, 8);
    add(d);
    return;
  }
  case 5: { // a permutation with some partitions kept
    const DType t = type(computeTypes());
    Buffer &from = allocate(core, Space::Sbuf, t, 32, n), &to = allocate(core, Space::Sbuf, t, 32, n);
    fill(from);
    fill(to);
    std::vector<int32_t> mask(32);
    for (int32_t &m : mask)
      m = r.chance(20) ? 255 : static_cast<int32_t>(r.below(32));
    Draft d(core, Engine::Vector, "nc_stream_shuffle");
    d.op.in("src", whole(from));
    d.op.touches.push_back(whole(to).touch);
    d.op.set("mask", mask);
    write(d, "dst", to, whole(to));
    add(d);
    return;
  }
  case 6: {
    const int q = static_cast<int>(r.between(1, 32));
    const int64_t m = r.between(1, 32);
    const DType t = type(computeTypes());
    Buffer &from = source(core, r.chance(25) ? Space::Psum : Space::Sbuf, {t}, q, m);
    Draft d(core, Engine::Vector, "nc_transpose");
    d.undefined = !from.defined;
    d.op.in("data", randomView(from, q, m, true, true));
    out(d, "dst", {t}, static_cast<int>(m), q);
    add(d);
    return;
  }
  default: {
    Draft d(core, Engine::Vector, "range_select");
    static const Names ops = {"equal", "less", "less_equal", "greater", "greater_equal"};
    in(d, "data", floatTypes(), p, n);
    in(d, "bound0", {DType::F32}, p, 1, false);
    in(d, "bound1", {DType::F32}, p, 1, false);
    d.op.set("comp_op0", r.pick(ops))
        .set("comp_op1", r.pick(ops))
        .set("range_start", static_cast<int32_t>(r.between(-4, 20)));
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(60))
      out(d, "reduce_res", computeTypes(), p, 1, false);
    add(d);
  }
  }
}

bool Generator::canUse(int core, std::string_view fn) {
  const int set = target.activationSet(fn);
  const auto &loaded = setsLoaded[core];
  return set < 0 || static_cast<int>(loaded.size()) < target.maxActivationSets ||
         std::find(loaded.begin(), loaded.end(), target.activationSets[set].name) != loaded.end();
}

void Generator::table(int core, std::string_view fn) {
  const int set = target.activationSet(fn);
  if (set < 0 || resident[core] == target.activationSets[set].name)
    return;
  const std::string &name = resident[core] = target.activationSets[set].name;
  auto &loaded = setsLoaded[core];
  if (std::find(loaded.begin(), loaded.end(), name) == loaded.end())
    loaded.push_back(name);
  s.add(std::move(Op(core, Engine::Scalar, "act_table_load").set("set", name)));
}

void Generator::activation(int core) {
  static const Names functions = {"copy", "square",   "sigmoid", "relu",   "gelu",   "gelu_dx", "silu",
                                  "tanh", "softplus", "mish",    "erf",    "erf_dx", "exp",     "sign",
                                  "abs",  "log",      "sin",     "arctan", "sqrt",   "rsqrt",   "reciprocal"};
  const char *fn = r.pick(functions);
  if (!canUse(core, fn))
    fn = "relu";
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  const bool twice = r.chance(20);
  for (int i = 0; i <= twice; ++i) { // the second adds to the accumulator of the first
    Draft d(core, Engine::Scalar, "activation");
    in(d, "data", computeTypes(), p, n);
    if (r.chance(50))
      scalar(*this, d, "scale", p);
    if (fn != std::string_view("reciprocal") && r.chance(50)) {
      if (has("activation_bias_immediate") && r.chance(50))
        d.op.set("bias", number(*this));
      else
        in(d, "bias", {DType::F32, DType::BF16}, p, 1, false);
    }
    out(d, "dst", computeTypes(), p, n);
    if (twice || r.chance(30)) {
      d.op.set("reduce_cmd", i ? "reduce" : "reset_reduce");
      // The registers remember what the first instruction read, so their sum is not looked at as defined here.
      d.undefined |= i > 0;
      out(d, "reduce_res", computeTypes(), p, 1, false);
    }
    d.op.set("fn", fn);
    table(core, fn);
    add(d);
  }
}

} // namespace glia::mutants
