// Loops: of one engine, nested, with fixed counts and with counts from an input; pipelines of engines with rotating buffers.
#include "Loop.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

Op loopCompute(Generator &g, int core, Engine e, const Operand &dst, const Operand &src) {
  const bool activation = e == Engine::Scalar;
  const bool scale = e == Engine::Vector && g.r.chance(50);
  Op op(core, e, activation ? "activation" : scale ? "tensor_scalar" : "tensor_copy");
  op.in(activation || scale ? "data" : "src", src).out("dst", dst);
  if (activation)
    op.set("fn", g.r.chance(50) ? "relu" : "square");
  if (scale)
    op.set("op0", "add").set("operand0", 1.0f);
  return op;
}

namespace {

Op registers(int core, Engine e, int dst, int a, int32_t mask) {
  Op op(core, e, "reg_alu");
  op.reg("dst", dst).reg("a", a).set("b", mask).set("op", "and");
  return op;
}

Buffer &reserved(Generator &g, int core, DType t, int p, int64_t n) {
  Buffer &buf = g.allocate(core, Space::Sbuf, t, p, n);
  g.fill(buf);
  return buf;
}

// One engine, perhaps two loops deep.
void alone(Generator &g, int core) {
  static const std::vector<Engine> engines = {Engine::Vector, Engine::Scalar, Engine::GpSimd};
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 6);
  const auto N = static_cast<uint32_t>(n);
  const int32_t inner = g.r.chance(40) ? static_cast<int32_t>(g.r.between(2, 3)) : 1;
  Loop loop(g, core);
  Part &part = loop.part(g.r.pick(engines));
  Buffer &from = reserved(g, core, DType::F32, p, n * inner * loop.count()),
         &to = reserved(g, core, DType::F32, p, n * inner * loop.count());
  const int64_t step = 4 * n * inner;
  const bool same = g.r.chance(30); // each iteration works on the same place
  Operand src = loop.stepping(g.view(from, {{1, N}}), part, step);
  Operand dst = same ? g.view(to, {{1, N}}) : loop.stepping(g.view(to, {{1, N}}), part, step);
  if (inner > 1) {
    part.innerIv = g.reg(core, part.engine);
    part.innerCount = inner;
    src = g.moved(src, part.innerIv, 4 * n, 0, inner - 1);
    dst = g.moved(dst, part.innerIv, 4 * n, 0, inner - 1);
  }
  part.body.push_back(loopCompute(g, core, part.engine, dst, src));
  if (g.r.chance(30)) { // skipped in some iterations
    Op jump(core, part.engine, "branch");
    jump.reg("a", part.iv)
        .set("b", static_cast<int32_t>(g.r.below(3)))
        .set("cond", g.r.chance(50) ? "lt" : "eq")
        .set("target", int32_t{0});
    part.jumps.push_back({static_cast<int>(part.body.size()), static_cast<int>(part.body.size()) + 2});
    part.body.push_back(std::move(jump));
    part.body.push_back(loopCompute(g, core, part.engine, dst, dst));
    part.body.push_back(Op(core, part.engine, "nop"));
  } else if (g.r.chance(40)) {
    part.body.push_back(loopCompute(g, core, part.engine, dst, dst));
  }
  loop.emit("");
}

// The address is a register that the body advances.
void advancing(Generator &g, int core) {
  const Engine e = g.r.chance(50) ? Engine::Vector : Engine::GpSimd;
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 6);
  const auto N = static_cast<uint32_t>(n);
  Loop loop(g, core);
  Part &part = loop.part(e);
  const int at = g.reg(core, e);
  Buffer &from = reserved(g, core, DType::F32, p, n * loop.count()),
         &to = reserved(g, core, DType::F32, p, n * loop.count());
  auto anywhere = [&](Buffer &buf) {
    Operand o = g.moved(g.view(buf, {{1, N}}), at, 4 * n, 0, 0);
    o.touch.runs = {{buf.offset, buf.offset + buf.bytes()}};
    return o;
  };
  g.s.add(std::move(Op(core, e, "reg_move").reg("dst", at).set("src", int32_t{0})));
  part.body.push_back(loopCompute(g, core, e, g.r.chance(50) ? anywhere(to) : g.view(to, {{1, N}}), anywhere(from)));
  part.body.push_back(std::move(Op(core, e, "reg_alu").reg("dst", at).reg("a", at).set("op", "add").set("b", int32_t{1})));
  loop.emit("");
}

// A sum of products: the first matmul overwrites, those in the loop add.
void products(Generator &g, int core) {
  const int k = static_cast<int>(g.r.between(1, 32)), m = static_cast<int>(g.r.between(1, 16));
  const int64_t n = g.r.between(1, 8);
  const auto M = static_cast<uint32_t>(m), N = static_cast<uint32_t>(n);
  Loop loop(g, core);
  Part &part = loop.part(Engine::Tensor);
  Buffer &a = reserved(g, core, DType::BF16, k, m * loop.count()), &b = reserved(g, core, DType::BF16, k, n * loop.count());
  Buffer &sum = g.allocate(core, Space::Psum, DType::F32, m, n);
  Op first(core, Engine::Tensor, "nc_matmul");
  first.out("dst", g.whole(sum)).in("stationary", g.view(a, {{1, M}})).in("moving", g.view(b, {{1, N}}));
  g.s.add(std::move(first));
  sum.defined = true;
  Op op(core, Engine::Tensor, "nc_matmul");
  op.inout("dst", g.whole(sum)).set("accumulate", int32_t{1});
  op.in("stationary", loop.stepping(g.view(a, {{1, M}}), part, 2 * m))
      .in("moving", loop.stepping(g.view(b, {{1, N}}), part, 2 * n));
  part.body.push_back(std::move(op));
  loop.emit("");
}

// Two or three engines, with rotating buffers between them (L4).
void pipeline(Generator &g, int core) {
  std::vector<Engine> engines = {g.r.chance(50) ? Engine::Vector : Engine::GpSimd, Engine::Scalar};
  if (g.has("vector_gpsimd_concurrent") && g.r.chance(40))
    engines.push_back(engines[0] == Engine::Vector ? Engine::GpSimd : Engine::Vector);
  for (size_t i = engines.size(); i > 1; --i)
    std::swap(engines[i - 1], engines[g.r.below(static_cast<int64_t>(i))]);
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 6);
  const auto N = static_cast<uint32_t>(n);
  Loop loop(g, core);
  Buffer &from = reserved(g, core, DType::F32, p, n * loop.count()),
         &to = reserved(g, core, DType::F32, p, n * loop.count());
  const bool same = g.r.chance(40);
  Buffer *slots = nullptr; // between the stage before and this one
  int full = -1, free = -1;
  int32_t ring = 1;
  for (size_t i = 0; i < engines.size(); ++i) {
    const Engine e = engines[i];
    const bool last = i + 1 == engines.size();
    Part &part = loop.part(e);
    auto slot = [&](Buffer &b, int32_t size) {
      const int reg = g.reg(core, e);
      part.body.push_back(registers(core, e, reg, part.iv, size - 1));
      return g.moved(g.view(b, {{1, N}}), reg, 4 * n, 0, size - 1);
    };
    const Operand src = slots ? slot(*slots, ring) : loop.stepping(g.view(from, {{1, N}}), part, 4 * n);
    std::vector<Op::Wait> waits;
    std::vector<std::pair<int, int32_t>> updates;
    if (slots) {
      waits.push_back({full, -1, 1, true});
      updates.push_back({free, 1});
    }
    Operand dst;
    if (last) {
      dst = same ? g.view(to, {{1, N}}) : loop.stepping(g.view(to, {{1, N}}), part, 4 * n);
    } else {
      ring = 1 << g.r.below(3);
      slots = &g.allocate(core, Space::Sbuf, DType::F32, p, n * ring);
      slots->reserved = true;
      free = g.s.semaphore(core, static_cast<int32_t>(g.r.between(1, ring))); // may run ahead by less than the ring
      full = g.s.semaphore(core);
      dst = slot(*slots, ring);
      waits.push_back({free, -1, 1, true});
      updates.push_back({full, 1});
    }
    Op op = loopCompute(g, core, e, dst, src);
    op.waits = waits;
    op.updates = updates;
    part.body.push_back(std::move(op));
  }
  loop.emit(format("g%d", g.s.size()));
}

// Tensor fills one half of a PSUM buffer after the other, Vector or Scalar empties them.
void evacuate(Generator &g, int core) {
  const int k = static_cast<int>(g.r.between(1, 32)), m = static_cast<int>(g.r.between(1, 16));
  const int64_t n = g.r.between(1, 8);
  const auto M = static_cast<uint32_t>(m), N = static_cast<uint32_t>(n);
  const Engine e = g.r.chance(50) ? Engine::Vector : Engine::Scalar;
  Loop loop(g, core);
  Part &make = loop.part(Engine::Tensor), &take = loop.part(e);
  Buffer &a = reserved(g, core, DType::BF16, k, m), &b = reserved(g, core, DType::BF16, k, n * loop.count());
  Buffer &sums = g.allocate(core, Space::Psum, DType::F32, m, 2 * n);
  Buffer &to = reserved(g, core, DType::F32, m, n * loop.count());
  sums.reserved = true;
  const int free = g.s.semaphore(core, 2), full = g.s.semaphore(core);
  const int slot1 = g.reg(core, Engine::Tensor), slot2 = g.reg(core, e);
  make.body.push_back(registers(core, Engine::Tensor, slot1, make.iv, 1));
  Op op(core, Engine::Tensor, "nc_matmul");
  op.out("dst", g.moved(g.view(sums, {{1, N}}), slot1, 4 * n, 0, 1)).in("stationary", g.view(a, {{1, M}}));
  op.in("moving", loop.stepping(g.view(b, {{1, N}}), make, 2 * n));
  op.waits.push_back({free, -1, 1, true});
  op.updates.push_back({full, 1});
  make.body.push_back(std::move(op));
  take.body.push_back(registers(core, e, slot2, take.iv, 1));
  Op get = loopCompute(g, core, e, loop.stepping(g.view(to, {{1, N}}), take, 4 * n),
                       g.moved(g.view(sums, {{1, N}}), slot2, 4 * n, 0, 1));
  get.waits.push_back({full, -1, 1, true});
  get.updates.push_back({free, 1});
  take.body.push_back(std::move(get));
  loop.emit(format("g%d", g.s.size()));
}

// A loop with a fixed count adds without anybody consuming in it (L3 does not bind it); its sum is waited for outside.
void counted(Generator &g, int core) {
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 6);
  const auto N = static_cast<uint32_t>(n);
  Loop loop(g, core, false);
  const Engine first = g.r.chance(50) ? Engine::Vector : Engine::GpSimd, second = Engine::Scalar;
  Part &part = loop.part(first);
  Buffer &from = reserved(g, core, DType::F32, p, n * loop.count()),
         &to = reserved(g, core, DType::F32, p, n * loop.count());
  const int s = g.s.semaphore(core);
  const auto each = static_cast<int32_t>(g.r.between(1, 3));
  Op op = loopCompute(g, core, first, loop.stepping(g.view(to, {{1, N}}), part, 4 * n),
                      loop.stepping(g.view(from, {{1, N}}), part, 4 * n));
  op.updates.push_back({s, each});
  part.body.push_back(std::move(op));
  loop.emit(format("g%d", g.s.size()));
  Op wait(core, second, "nop");
  wait.waits.push_back({s, -1, each * loop.count(), g.r.chance(50)});
  g.s.add(std::move(wait));
}

} // namespace

void Generator::loop(int core) {
  switch (r.below(11)) {
  case 0:
  case 1: return alone(*this, core);
  case 2: return products(*this, core);
  case 3: return pipeline(*this, core);
  case 4: return evacuate(*this, core);
  case 5: return counted(*this, core);
  case 6: return unrolledLoop(core);
  case 7: return advancing(*this, core);
  case 8: return streamInLoop(core);
  default: return repeat(core);
  }
}

} // namespace glia::mutants
