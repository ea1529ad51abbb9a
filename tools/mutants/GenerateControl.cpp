// Registers: constants and loaded values in addresses, stores of registers, and branches.
#include "Generator.h"

namespace glia::mutants {

namespace {

Engine anyEngine(Random &r) { return static_cast<Engine>(r.below(kNumEngines)); }

// A register with a value from lo to hi, loaded from an input, perhaps by way of arithmetic.
int loaded(Generator &g, int core, Engine e, int64_t lo, int64_t hi) {
  static const Types types = {DType::I32, DType::U32, DType::I16, DType::U16, DType::I8, DType::U8};
  const int r = g.reg(core, e);
  const DType t = lo < 0 ? DType::I16 : g.type(types);
  const Hbm n = g.rangedInput({2}, t, lo, hi);
  Op op(core, e, "reg_load");
  op.in("src", g.view(n, {{1, 1}}, g.r.below(2))).reg("dst", r);
  g.s.add(std::move(op));
  return r;
}

int constant(Generator &g, int core, Engine e, int64_t v) {
  const int r = g.reg(core, e);
  g.s.add(std::move(Op(core, e, "reg_move").reg("dst", r).set("src", static_cast<int32_t>(v))));
  return r;
}

// The same value by way of an operation that keeps values from 0 to `most` as they are.
int arithmetic(Generator &g, int core, Engine e, int reg, int64_t most) {
  struct Step {
    const char *op;
    int32_t b;
  };
  const std::vector<std::vector<Step>> ways = {{{"add", 0}},
                                               {{"and", 7}},
                                               {{"min", static_cast<int32_t>(most)}},
                                               {{"max", 0}},
                                               {{"add", 5}, {"subtract", 5}},
                                               {{"shift_left", 3}, {"shift_right", 3}},
                                               {{"multiply", 4}, {"shift_right", 2}}};
  for (const Step &step : g.r.pick(ways)) {
    const int to = g.reg(core, e);
    Op op(core, e, "reg_alu");
    op.reg("dst", to).reg("a", reg).set("op", step.op).set("b", step.b);
    g.s.add(std::move(op));
    reg = to;
  }
  return reg;
}

} // namespace

void Generator::registers(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 8), steps = r.between(1, 4);
  switch (r.below(7)) {
  case 5: { // a register that one of two ways has set
    const Engine e = r.chance(50) ? Engine::Vector : Engine::GpSimd;
    const int decides = loaded(*this, core, e, 0, 3), reg = constant(*this, core, e, r.below(steps + 1));
    Op jump(core, e, "branch"), other(core, e, "reg_move"), past(core, e, "nop");
    jump.reg("a", decides).set("b", int32_t{1}).set("cond", "gt").set("target", int32_t{0});
    other.reg("dst", reg).set("src", static_cast<int32_t>(r.below(steps + 1)));
    jump.inner = other.inner = true;
    const int from = s.add(std::move(jump));
    s.add(std::move(other));
    s.label(from, s.add(std::move(past)));
    copyMoved(core, e, reg, n, steps, p);
    return;
  }
  case 6: { // a register from SBUF: its value is known to us only
    const Engine e = r.chance(50) ? Engine::Vector : Engine::GpSimd;
    Buffer &value = allocate(core, Space::Sbuf, DType::I32, 1, 1);
    Op set(core, r.chance(50) ? Engine::Vector : Engine::GpSimd, "memset"), load(core, e, "reg_load");
    set.out("dst", whole(value)).set("bits", static_cast<int32_t>(r.below(steps + 1)));
    s.add(std::move(set));
    const int reg = this->reg(core, e);
    load.in("src", whole(value)).reg("dst", reg);
    s.add(std::move(load));
    value.defined = true;
    copyMoved(core, e, reg, n, steps, p);
    return;
  }
  case 4: { // a quadrant of the partitions by a register
    const bool fixed = r.chance(50);
    const int at = static_cast<int>(r.below(4)), q = static_cast<int>(r.between(1, 32));
    const int reg = fixed ? constant(*this, core, Engine::Vector, at) : loaded(*this, core, Engine::Vector, 0, 3);
    Buffer &from = source(core, Space::Sbuf, {DType::F32}, 128, n, true);
    Operand src = view(from, {{1, static_cast<uint32_t>(n)}}, 0, 0, q);
    src.access = b.dynamic(src.access, reg, 32, true);
    src.touch.first = fixed ? 32 * at : 0;
    src.touch.last = fixed ? 32 * at + q : 96 + q;
    Draft d(core, Engine::Vector, "tensor_copy");
    d.op.in("src", src);
    out(d, "dst", {DType::F32, DType::BF16}, q, n);
    add(d);
    return;
  }
  case 0: { // an engine operand that moves by a register
    const Engine e = r.chance(50) ? Engine::Vector : Engine::GpSimd;
    const DType t = type(computeTypes());
    const bool fixed = r.chance(40);
    const int64_t at = r.between(0, steps);
    int reg = fixed ? constant(*this, core, e, at) : loaded(*this, core, e, 0, steps);
    if (r.chance(50))
      reg = arithmetic(*this, core, e, reg, steps);
    Buffer &from = source(core, Space::Sbuf, {t}, p, n * (steps + 1), true);
    const Operand src =
        moved(view(from, {{1, static_cast<uint32_t>(n)}}, 0, 0, p), reg, n * sizeOf(t), fixed ? at : 0, fixed ? at : steps);
    Draft d(core, e, "tensor_copy");
    d.op.in("src", src);
    if (r.chance(50)) {
      out(d, "dst", {t}, p, n);
    } else { // the destination moves too
      Buffer &to = allocate(core, Space::Sbuf, t, p, n * (steps + 1));
      fill(to);
      Operand dst = moved(view(to, {{1, static_cast<uint32_t>(n)}}), reg, n * sizeOf(t), fixed ? at : 0, fixed ? at : steps);
      d.op.out("dst", dst);
    }
    add(d);
    return;
  }
  case 1: { // a transfer that moves by a register
    const bool hw = has("hwdge") && r.chance(60);
    const Engine e = !hw ? Engine::GpSimd : r.chance(50) ? Engine::Sync : Engine::Scalar;
    const int reg = loaded(*this, core, e, 0, steps);
    const DType t = type(computeTypes());
    const Hbm x = tensor("x", TensorKind::Input, t, {p + steps, n});
    Buffer &to = allocate(core, Space::Sbuf, t, p, n);
    Op op = dma(core, e);
    op.out("dst", whole(to));
    op.in("src", moved(view(x, {{static_cast<int32_t>(n), static_cast<uint32_t>(p)}, {1, static_cast<uint32_t>(n)}}), reg,
                       n * sizeOf(t), 0, steps));
    op.set("dge", hw ? "hwdge" : "swdge").queue(queue(core, e));
    s.add(std::move(op));
    to.defined = true;
    return;
  }
  case 2: { // arithmetic, and a register that is stored
    const Engine e = anyEngine(r);
    static const std::vector<const char *> ops = {"add", "subtract", "multiply", "and",        "or",
                                                  "xor", "min",      "max",      "shift_left", "shift_right"};
    const int a = constant(*this, core, e, r.between(-9, 9)), c = loaded(*this, core, e, 0, 31), d = reg(core, e);
    Op op(core, e, "reg_alu");
    op.reg("dst", d).reg("a", a).reg("b", c).set("op", r.pick(ops));
    s.add(std::move(op));
    static const Types types = {DType::I32, DType::U16, DType::I8, DType::F32};
    Buffer &to = allocate(core, Space::Sbuf, type(types), 1, 1);
    Op store(core, e, "reg_store");
    store.out("dst", whole(to)).reg("src", d);
    s.add(std::move(store));
    to.defined = true;
    return;
  }
  default: { // an output written element by element
    const Engine e = anyEngine(r);
    const Hbm y = tensor("y", TensorKind::Output, DType::I32, {2});
    for (int i = 0; i < 2; ++i) {
      const int v = i ? loaded(*this, core, e, -3, 3) : constant(*this, core, e, r.between(-100, 100));
      Op store(core, e, "reg_store");
      store.out("dst", view(y, {{1, 1}}, i)).reg("src", v);
      s.add(std::move(store));
    }
  }
  }
}

// Copies one of the n elements wide columns of a buffer, wherever the register says.
void Generator::copyMoved(int core, Engine e, int reg, int64_t n, int64_t steps, int p) {
  const DType t = type(computeTypes());
  Buffer &from = source(core, Space::Sbuf, {t}, p, n * (steps + 1), true);
  Operand src = moved(view(from, {{1, static_cast<uint32_t>(n)}}, 0, 0, p), reg, n * sizeOf(t), 0, 0);
  src.touch.runs = {{from.offset, from.offset + from.bytes()}};
  Draft d(core, e, "tensor_copy");
  d.op.in("src", src);
  out(d, "dst", {t}, p, n);
  add(d);
}

// A few instructions that an input may skip. What happens before and after hangs on instructions outside of them (L6).
void Generator::branch(int core) {
  const int p = partitions();
  const int64_t n = r.between(1, 16);
  static const std::vector<const char *> conditions = {"lt", "le", "eq", "ne", "ge", "gt", "always"};
  const Engine e = r.chance(50) ? Engine::Vector : Engine::Scalar;
  Buffer &buf = source(core, Space::Sbuf, {DType::F32, DType::BF16}, p, n, true);
  const int reg = loaded(*this, core, e, 0, 7), other = r.chance(40) ? constant(*this, core, e, r.between(0, 7)) : -1;
  std::vector<Op> body;
  const int count = static_cast<int>(r.between(1, 3));
  for (int i = 0; i < count; ++i) {
    const Operand o = randomView(buf, p, n, false, true);
    Op op(core, e, e == Engine::Vector ? "tensor_scalar" : "activation");
    op.in("data", o).out("dst", o);
    if (e == Engine::Vector)
      op.set("op0", "add").set("operand0", 1.0f);
    else
      op.set("fn", "relu").set("scale", 0.5f);
    op.inner = true;
    body.push_back(std::move(op));
  }
  Op before(core, e, "nop"), after(core, e, "nop");
  for (const Op &op : body)
    for (const Touch &t : op.touches) {
      before.touches.push_back(t);
      after.touches.push_back(t);
    }
  s.add(std::move(before));
  Op jump(core, e, "branch");
  jump.reg("a", reg);
  if (other >= 0)
    jump.reg("b", other);
  else
    jump.set("b", static_cast<int32_t>(r.between(0, 7)));
  jump.set("cond", r.pick(conditions)).set("target", int32_t{0});
  jump.inner = true;
  const int from = s.add(std::move(jump));
  for (Op &op : body)
    s.add(std::move(op));
  const int to = s.add(std::move(after));
  s.label(from, to);
}

} // namespace glia::mutants
