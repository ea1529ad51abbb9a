// Loops: of one engine, nested, with fixed counts and with counts from an input; pipelines of two engines with rotating
// buffers; transfers in loops. Inside, semaphores are placed by hand (docs/ordering.md, L1 to L5 and idiom 5).
#include "Generator.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

namespace {

struct Part {                                          // what one engine does
  Engine engine;
  int iv = 0;
  std::vector<Op> body;
  std::vector<std::pair<int, int>> jumps;              // from an instruction of the body to a later one
  int innerIv = -1;                                    // the body is repeated inside
  int32_t innerCount = 0;
};

class Loop {
public:
  Loop(Generator &g, int core, bool mayBeDynamic = true)
      : g(g), core(core), most(static_cast<int32_t>(g.r.between(1, 4))), dynamic(mayBeDynamic && g.r.chance(60)) {
    if (dynamic)
      trips = g.rangedInput({1}, DType::I32, g.r.below(2), most);
  }
  int32_t count() const { return most; }
  bool isDynamic() const { return dynamic; }
  Part &part(Engine e) {
    Part p;
    p.engine = e;
    p.iv = g.reg(core, e);
    parts.push_back(std::move(p));
    return parts.back();
  }
  // `step` elements of the buffer further in each iteration.
  Operand stepping(const Operand &o, const Part &p, int64_t bytes) { return g.moved(o, p.iv, bytes, 0, most - 1); }

  void emit(const std::string &group) {
    const int block = g.s.size();
    std::vector<int> counts;
    for (const Part &p : parts) {
      counts.push_back(dynamic ? g.reg(core, p.engine) : -1);
      if (!dynamic)
        continue;
      Op load(core, p.engine, "reg_load");
      load.in("src", g.view(trips, {{1, 1}})).reg("dst", counts.back());
      g.s.add(std::move(load));
    }
    for (const Part &p : parts)
      g.s.add(fence(p, block));
    for (size_t i = 0; i < parts.size(); ++i) {
      Part &p = parts[i];
      const int outer = open(p, p.iv, counts[i], most, group);
      const int inner = p.innerIv >= 0 ? open(p, p.innerIv, -1, p.innerCount, "") : -1;
      const Op last = fence(p, block);
      const int start = g.s.size();
      for (Op &op : p.body) {
        op.inner = true;
        g.s.add(std::move(op));
      }
      for (const auto &[from, to] : p.jumps)
        g.s.label(start + from, start + to);
      if (inner >= 0)
        close(p, inner);
      close(p, outer);
      ends.push_back(last);
    }
    for (Op &op : ends)
      g.s.add(std::move(op));
  }

private:
  Generator &g;
  const int core;
  const int32_t most;
  const bool dynamic;
  Hbm trips;
  std::deque<Part> parts;
  std::vector<Op> ends;

  // Stands for everything the part touches, before and after the loop.
  Op fence(const Part &p, int block) {
    Op op(core, p.engine, "nop");
    op.block = block;
    for (const Op &x : p.body)
      op.touches.insert(op.touches.end(), x.touches.begin(), x.touches.end());
    return op;
  }
  int open(const Part &p, int iv, int countReg, int32_t count, const std::string &group) {
    Op op(core, p.engine, "loop");
    op.reg("iv", iv).set("end", int32_t{0});
    if (countReg >= 0)
      op.reg("count", countReg);
    else
      op.set("count", count);
    if (!group.empty())
      op.set("group", group);
    op.inner = true;
    return g.s.add(std::move(op));
  }
  void close(const Part &p, int begin) {
    Op op(core, p.engine, "end_loop");
    op.set("begin", int32_t{0});
    op.inner = true;
    const int end = g.s.add(std::move(op));
    g.s.label(begin, end);
    g.s.label(end, begin);
  }
};

Op compute(Generator &g, int core, Engine e, const Operand &dst, const Operand &src) {
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
  Buffer &from = reserved(g, core, DType::F32, p, n * inner * loop.count()), &to = reserved(g, core, DType::F32, p, n * inner * loop.count());
  const int64_t step = 4 * n * inner;
  const bool same = g.r.chance(30);                    // each iteration works on the same place
  Operand src = loop.stepping(g.view(from, {{1, N}}), part, step);
  Operand dst = same ? g.view(to, {{1, N}}) : loop.stepping(g.view(to, {{1, N}}), part, step);
  if (inner > 1) {
    part.innerIv = g.reg(core, part.engine);
    part.innerCount = inner;
    src = g.moved(src, part.innerIv, 4 * n, 0, inner - 1);
    dst = g.moved(dst, part.innerIv, 4 * n, 0, inner - 1);
  }
  part.body.push_back(compute(g, core, part.engine, dst, src));
  if (g.r.chance(30)) {                                // skipped in some iterations
    Op jump(core, part.engine, "branch");
    jump.reg("a", part.iv).set("b", static_cast<int32_t>(g.r.below(3))).set("cond", g.r.chance(50) ? "lt" : "eq").set("target", int32_t{0});
    part.jumps.push_back({static_cast<int>(part.body.size()), static_cast<int>(part.body.size()) + 2});
    part.body.push_back(std::move(jump));
    part.body.push_back(compute(g, core, part.engine, dst, dst));
    part.body.push_back(Op(core, part.engine, "nop"));
  } else if (g.r.chance(40)) {
    part.body.push_back(compute(g, core, part.engine, dst, dst));
  }
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
  op.in("stationary", loop.stepping(g.view(a, {{1, M}}), part, 2 * m)).in("moving", loop.stepping(g.view(b, {{1, N}}), part, 2 * n));
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
  Buffer &from = reserved(g, core, DType::F32, p, n * loop.count()), &to = reserved(g, core, DType::F32, p, n * loop.count());
  const bool same = g.r.chance(40);
  Buffer *slots = nullptr;                             // between the stage before and this one
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
      free = g.s.semaphore(core, static_cast<int32_t>(g.r.between(1, ring)));   // may run ahead by less than the ring
      full = g.s.semaphore(core);
      dst = slot(*slots, ring);
      waits.push_back({free, -1, 1, true});
      updates.push_back({full, 1});
    }
    Op op = compute(g, core, e, dst, src);
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
  Op get = compute(g, core, e, loop.stepping(g.view(to, {{1, N}}), take, 4 * n), g.moved(g.view(sums, {{1, N}}), slot2, 4 * n, 0, 1));
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
  Buffer &from = reserved(g, core, DType::F32, p, n * loop.count()), &to = reserved(g, core, DType::F32, p, n * loop.count());
  const int s = g.s.semaphore(core);
  const auto each = static_cast<int32_t>(g.r.between(1, 3));
  Op op = compute(g, core, first, loop.stepping(g.view(to, {{1, N}}), part, 4 * n), loop.stepping(g.view(from, {{1, N}}), part, 4 * n));
  op.updates.push_back({s, each});
  part.body.push_back(std::move(op));
  loop.emit(format("g%d", g.s.size()));
  Op wait(core, second, "nop");
  wait.waits.push_back({s, -1, each * loop.count(), g.r.chance(50)});
  g.s.add(std::move(wait));
}

// One transfer in, one computation and one transfer out per iteration.
void stream(Generator &g, int core) {
  const bool hw = g.has("hwdge") && g.r.chance(60);
  const char *dge = hw ? "hwdge" : "swdge";
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 6);
  const auto N = static_cast<uint32_t>(n), P = static_cast<uint32_t>(p);
  const Engine queueEngine = hw ? Engine::Sync : Engine::GpSimd, e = g.r.chance(50) ? Engine::Vector : Engine::Scalar;
  const int64_t tile = p * n;
  Loop loop(g, core);
  Part &move = loop.part(queueEngine), &work = loop.part(e);
  Buffer &t = g.allocate(core, Space::Sbuf, DType::F32, p, n), &u = g.allocate(core, Space::Sbuf, DType::F32, p, n);
  t.reserved = u.reserved = true;
  const std::vector<Dim> rows = {{static_cast<int32_t>(n), P}, {1, N}};
  const Hbm x = g.tensor("x", TensorKind::Input, DType::F32, {loop.count(), p, n}), y = g.tensor("y", TensorKind::Output, DType::F32, {loop.count(), p, n});
  const Hbm clear = g.tensor("c", TensorKind::Constant, DType::F32, {1});
  Op zero = g.dma(core, queueEngine);                  // an output is written even if the loop runs zero times
  zero.out("dst", g.view(y, {{1, static_cast<uint32_t>(y.elements)}})).in("src", g.view(clear, {{0, static_cast<uint32_t>(y.elements)}}));
  zero.queue(g.queue(core, queueEngine));
  g.s.add(std::move(zero));
  const int loaded = g.s.semaphore(core), done = g.s.semaphore(core), stored = g.s.semaphore(core);
  Op load = g.dma(core, queueEngine);
  load.out("dst", g.whole(t)).in("src", loop.stepping(g.view(x, rows), move, 4 * tile)).set("dge", dge).queue(g.queue(core, queueEngine));
  load.updates.push_back({loaded, 16});
  move.body.push_back(std::move(load));
  Op op = compute(g, core, e, g.whole(u), g.whole(t));
  op.waits.push_back({loaded, -1, 16, true});
  op.updates.push_back({done, 1});
  work.body.push_back(std::move(op));
  Op store = g.dma(core, queueEngine);
  store.out("dst", loop.stepping(g.view(y, rows), move, 4 * tile)).in("src", g.whole(u)).set("dge", dge).queue(g.queue(core, queueEngine));
  store.waits.push_back({done, -1, 1, true});
  store.updates.push_back({stored, 16});
  move.body.push_back(std::move(store));
  Op drain(core, queueEngine, "nop");
  drain.waits.push_back({stored, -1, 16, true});
  move.body.push_back(std::move(drain));
  loop.emit(format("g%d", g.s.size()));
}

// Loads, computation and stores each on an engine of its own, R buffers, the body unrolled R times (idiom 5).
void unrolled(Generator &g, int core) {
  if (!g.has("hwdge"))
    return stream(g, core);
  const bool swapped = g.r.chance(50);
  const Engine loader = swapped ? Engine::GpSimd : Engine::Sync, storer = swapped ? Engine::Sync : Engine::GpSimd, e = g.r.chance(50) ? Engine::Vector : Engine::Scalar;
  auto dge = [&](Engine engine) { return engine == Engine::GpSimd ? "swdge" : "hwdge"; };
  const int p = g.partitions();
  const int64_t n = g.r.between(1, 5), rings = g.r.between(1, 3), tile = p * n;
  const auto N = static_cast<uint32_t>(n);
  const std::vector<Dim> rows = {{static_cast<int32_t>(n), static_cast<uint32_t>(p)}, {1, N}};
  Loop loop(g, core);
  Part &in = loop.part(loader), &work = loop.part(e), &out = loop.part(storer);
  const Hbm x = g.tensor("x", TensorKind::Input, DType::F32, {loop.count() * rings, p, n});
  const Hbm y = g.tensor("y", TensorKind::Output, DType::F32, {loop.count() * rings, p, n});
  const Hbm clear = g.tensor("c", TensorKind::Constant, DType::F32, {1});
  Op zero = g.dma(core, storer);
  zero.out("dst", g.view(y, {{1, static_cast<uint32_t>(y.elements)}})).in("src", g.view(clear, {{0, static_cast<uint32_t>(y.elements)}}));
  zero.queue(g.queue(core, storer));
  g.s.add(std::move(zero));
  for (int64_t i = 0; i < rings; ++i) {
    Buffer &t = g.allocate(core, Space::Sbuf, DType::F32, p, n), &u = g.allocate(core, Space::Sbuf, DType::F32, p, n);
    t.reserved = u.reserved = true;                    // never used again: the last transfers are not waited for
    const int free = g.s.semaphore(core, 1), full = g.s.semaphore(core), done = g.s.semaphore(core), stored = g.s.semaphore(core, 16);
    Op load = g.dma(core, loader), op = compute(g, core, e, g.whole(u), g.whole(t)), store = g.dma(core, storer);
    load.out("dst", g.whole(t)).in("src", loop.stepping(g.view(x, rows, i * tile), in, 4 * tile * rings)).set("dge", dge(loader));
    load.queue(g.queue(core, loader));
    load.waits.push_back({free, -1, 1, true});
    load.updates.push_back({full, 16});
    op.waits = {{full, -1, 16, true}, {stored, -1, 16, true}};
    op.updates = {{free, 1}, {done, 1}};
    store.out("dst", loop.stepping(g.view(y, rows, i * tile), out, 4 * tile * rings)).in("src", g.whole(u)).set("dge", dge(storer));
    store.queue(g.queue(core, storer));
    store.waits.push_back({done, -1, 1, true});
    store.updates.push_back({stored, 16});
    in.body.push_back(std::move(load));
    work.body.push_back(std::move(op));
    out.body.push_back(std::move(store));
  }
  loop.emit(format("g%d", g.s.size()));
}

} // namespace

void Generator::loop(int core) {
  switch (r.below(8)) {
  case 0:
  case 1: return alone(*this, core);
  case 2: return products(*this, core);
  case 3: return pipeline(*this, core);
  case 4: return evacuate(*this, core);
  case 5: return counted(*this, core);
  case 6: return unrolled(*this, core);
  default: return stream(*this, core);
  }
}

} // namespace glia::mutants
