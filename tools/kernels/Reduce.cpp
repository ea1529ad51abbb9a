// Reductions, scans, accumulators, activation functions and the other instructions of Vector and Scalar.
#include "Operations.h"

#include <algorithm>

namespace glia::kernels {

static std::bitset<128> lanes(const View &data) {
  std::bitset<128> b;
  for (int p = data.first; p < data.last; ++p)
    b.set(p);
  return b;
}

// Chooses what happens to the accumulator registers, and notes it. `idle`: the instruction may leave them alone.
static const char *command(Generator &g, Draft &d, const View &data, bool idle, bool vector) {
  std::bitset<128> &held = g.accumulator[d.core][d.engine];
  const std::bitset<128> now = lanes(data);
  const bool ready = (held & now) == now && !d.undefined;
  if (ready && g.r.chance(60))
    return "reduce";
  if (idle && !g.inLoop() && g.r.chance(20)) {
    if (vector)
      held &= ~now; // it may clobber them
    return "idle";
  }
  held = d.undefined ? held & ~now : held | now;
  return "reset_reduce";
}

void Generator::reduce(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  static const Types word = {DType::I32, DType::U32};
  switch (r.below(4)) {
  case 0: {
    const int64_t groups = r.between(1, 6), each = r.between(1, 6);
    Draft d(core, VECTOR, "tensor_reduce");
    static const Names sums = {"add", "subtract", "multiply", "max", "min", "logical_and", "logical_or", "logical_xor"};
    static const Names bits = {"bitwise_and", "bitwise_or", "bitwise_xor"};
    const bool bit = r.chance(25);
    in(d, "data", bit ? word : computeTypes(), p, groups * each);
    out(d, "dst", bit ? word : computeTypes(), p, groups);
    d.set("op", bit ? r.pick(bits) : r.pick(sums)).set("negate", int32_t(!bit && r.chance(30)));
    add(d);
    return;
  }
  case 1: {
    Draft d(core, VECTOR, "tensor_tensor_scan");
    in(d, "data0", computeTypes(), p, n);
    in(d, "data1", computeTypes(), p, n);
    scalar(*this, d, "initial", p, computeTypes());
    d.set("op0", binary(*this)).set("op1", binary(*this)).set("reverse0", int32_t(r.below(2)));
    out(d, "dst", computeTypes(), p, n);
    add(d);
    return;
  }
  case 2: {
    Draft d(core, VECTOR, "tensor_scalar_reduce");
    const View data = in(d, "data", computeTypes(), p, n);
    firstOperation(*this, d, p);
    static const Names ops = {"add", "multiply", "max", "min"};
    d.set("reduce_op", r.pick(ops)).set("reduce_res_negate", int32_t(r.chance(20)));
    if (r.chance(30)) {
      d.set("reduce_cmd", "load_reduce");
      scalar(*this, d, "reduce_init", p);
      std::bitset<128> &held = accumulator[core][VECTOR];
      held = d.undefined ? held & ~lanes(data) : held | lanes(data);
    } else {
      d.set("reduce_cmd", command(*this, d, data, false, true));
    }
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(70))
      out(d, "reduce_res", computeTypes(), p, 1, false);
    add(d);
    return;
  }
  default: {
    if (!has("range_select"))
      return activation(core);
    Draft d(core, VECTOR, "range_select");
    static const Names ops = {"equal", "less", "less_equal", "greater", "greater_equal"};
    const View data = in(d, "data", floatTypes(), p, n);
    in(d, "bound0", {DType::F32}, p, 1, false);
    in(d, "bound1", {DType::F32}, p, 1, false);
    d.set("comp_op0", r.pick(ops)).set("comp_op1", r.pick(ops));
    d.set("range_start", static_cast<int32_t>(r.between(-4, 20)));
    const char *cmd = command(*this, d, data, true, true);
    d.set("reduce_cmd", cmd);
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(60) && std::string_view(cmd) != "idle")
      out(d, "reduce_res", computeTypes(), p, 1, false);
    add(d);
  }
  }
}

void Generator::activation(int core) {
  static const Names functions = {"copy", "square",   "sigmoid", "relu",   "gelu",   "gelu_dx", "silu",
                                  "tanh", "softplus", "mish",    "erf",    "erf_dx", "exp",     "sign",
                                  "abs",  "log",      "sin",     "arctan", "sqrt",   "rsqrt",   "reciprocal"};
  const char *fn = r.pick(functions);
  const int table = target.activationSet(fn);
  if (table >= 0 && !setsUsed[core].count(table)) {
    if (static_cast<int>(setsUsed[core].size()) >= target.maxActivationSets)
      fn = "relu";
    else
      setsUsed[core].insert(table);
  }
  const int p = partitions();
  const int64_t n = r.between(1, 24);
  const int64_t times = r.chance(25) ? r.between(2, 3) : 1;
  for (int64_t i = 0; i < times; ++i) {
    Draft d(core, SCALAR, "activation");
    const View data = in(d, "data", computeTypes(), p, n);
    if (r.chance(50))
      scalar(*this, d, "scale", p);
    if (fn != std::string_view("reciprocal") && r.chance(50)) {
      if (has("activation_bias_immediate") && r.chance(50))
        d.set("bias", number(*this));
      else
        in(d, "bias", {DType::F32, DType::BF16}, p, 1, false);
    }
    const bool accumulates = times > 1 || r.chance(30);
    if (accumulates)
      d.set("reduce_cmd", command(*this, d, data, false, false));
    out(d, "dst", computeTypes(), p, n);
    if (accumulates && r.chance(70)) {
      out(d, "reduce_res", computeTypes(), p, 1, false);
    } else if (!accumulates && (accumulator[core][SCALAR] & lanes(data)) == lanes(data) && r.chance(30)) {
      out(d, "reduce_res", computeTypes(), p, 1, false); // what is there, left alone
    }
    d.set("fn", fn);
    add(d);
  }
}

// A permutation of partitions, some of them kept.
static void shuffle(Generator &g, int core, int64_t n) {
  const DType t = g.type(computeTypes());
  Tile &from = g.allocate(core, Space::Sbuf, t, 32, n), &to = g.allocate(core, Space::Sbuf, t, 32, n);
  g.fill(from);
  g.fill(to);
  std::vector<int32_t> mask(32);
  for (int32_t &m : mask)
    m = g.r.chance(20) ? 255 : static_cast<int32_t>(g.r.below(32));
  Draft d(core, VECTOR, "nc_stream_shuffle");
  d.in("src", g.whole(from)).set("mask", mask).inout("dst", g.whole(to));
  g.add(d);
}

void Generator::vectorExtras(int core) {
  const int p = partitions();
  const int64_t n = r.between(8, 24);
  static const Types indices = {DType::U16, DType::U32};
  switch (r.below(7)) {
  case 0: {
    Draft d(core, VECTOR, "bn_stats");
    in(d, "data", computeTypes(), p, n);
    out(d, "dst", {DType::F32}, p, 6);
    add(d);
    return;
  }
  case 1: {
    Draft d(core, VECTOR, "bn_aggr");
    in(d, "data", {DType::F32}, p, 6 * r.between(1, 2));
    out(d, "dst", {DType::F32, DType::BF16}, p, 2);
    add(d);
    return;
  }
  case 2: {
    Draft d(core, VECTOR, "max8");
    in(d, "src", computeTypes(), p, n);
    out(d, "dst", computeTypes(), p, 8);
    add(d);
    return;
  }
  case 3: {
    Draft d(core, VECTOR, "nc_find_index8");
    in(d, "data", computeTypes(), p, n);
    in(d, "vals", computeTypes(), p, 8);
    out(d, "dst", indices, p, 8);
    add(d);
    return;
  }
  case 4: {
    Draft d(core, VECTOR, "nc_match_replace8");
    in(d, "data", computeTypes(), p, n);
    in(d, "vals", computeTypes(), p, 8);
    d.set("imm", number(*this));
    out(d, "dst", computeTypes(), p, n);
    if (r.chance(50))
      out(d, "dst_idx", indices, p, 8);
    add(d);
    return;
  }
  case 5: return shuffle(*this, core, n);
  default: {
    const int q = static_cast<int>(r.between(1, 32));
    const int64_t m = r.between(1, 32);
    const DType t = type(computeTypes());
    Draft d(core, VECTOR, "nc_transpose");
    d.in("data", randomView(source(core, r.chance(25) ? Space::Psum : Space::Sbuf, {t}, q, m), q, m, true, true));
    out(d, "dst", {t}, static_cast<int>(m), q);
    d.open = d.writes[0].tile->space == Space::Sbuf;
    add(d);
  }
  }
}

} // namespace glia::kernels
