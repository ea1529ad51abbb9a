// Two cores: barriers around shared HBM, and exchanges of tiles. A collective of the only rank.
#include "Generator.h"
#include "glia/ISA/Collective.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

// Each core writes its part of a shared tensor, both meet, each reads the other's part (idiom 6).
void Generator::meet() {
  const int p = partitions();
  const int64_t n = r.between(1, 16);
  const auto N = static_cast<uint32_t>(n), P = static_cast<uint32_t>(p);
  const DType t = type(computeTypes());
  const Hbm h = tensor("h", TensorKind::Scratch, t, {2, p, n});
  const std::vector<Dim> half = {{static_cast<int32_t>(n), P}, {1, N}};
  Engine at[2];
  for (int core = 0; core < 2; ++core) {
    Buffer &from = source(core, Space::Sbuf, {t}, p, n, true);
    const Engine e = static_cast<Engine>(dmaEngine(core));
    Op op = dma(core, e);
    op.out("dst", view(h, half, core * p * n)).in("src", randomView(from, p, n, true, false)).queue(queue(core, e));
    s.add(std::move(op));
    at[core] = static_cast<Engine>(dmaEngine(core));
    Op wait(core, at[core], "nop"); // whoever enters the barrier knows that the store is complete
    wait.touches.push_back(view(h, half, core * p * n).touch);
    wait.touches.back().write = true;
    s.add(std::move(wait));
  }
  // A name belongs to one engine of each core, so that which is its n-th barrier is certain.
  s.barrier(at[0], at[1], format("meet%d%d", static_cast<int>(at[0]), static_cast<int>(at[1])));
  for (int core = 0; core < 2; ++core) {
    const Engine e = static_cast<Engine>(dmaEngine(core));
    Buffer &to = allocate(core, Space::Sbuf, t, p, n);
    Op op = dma(core, e);
    op.out("dst", whole(to)).in("src", view(h, half, (1 - core) * p * n)).queue(queue(core, e));
    s.add(std::move(op));
    to.defined = true;
  }
}

void Generator::exchange() {
  const int p = partitions();
  const int64_t n = r.between(1, 8);
  const DType t = type(computeTypes());
  const bool small = has("gpsimd_dma") && r.chance(30);
  const Engine e = small ? Engine::GpSimd : static_cast<Engine>(dmaEngine(0));
  std::vector<Op> both;
  Buffer *to[2];
  for (int core = 0; core < 2; ++core) {
    Buffer &from = source(core, Space::Sbuf, {t}, p, n, true);
    to[core] = &allocate(core, Space::Sbuf, t, p, n);
    Op op(core, e, "sendrecv");
    op.out("dst", whole(*to[core]))
        .in("src", randomView(from, p, n, true, false))
        .pipe(static_cast<int>(e)); // one owner per pipe
    if (small)
      op.set("engine", "gpsimd_dma");
    both.push_back(std::move(op));
  }
  s.addExchange(std::move(both[0]), std::move(both[1]));
  to[0]->defined = to[1]->defined = true;
}

// The program is for one rank, which meets itself: it gets what it gave, or zeros from a permutation without pairs.
void Generator::collective() {
  const int p = partitions();
  const int64_t n = r.between(1, 8);
  const DType t = type(computeTypes());
  const CollectiveKind kind = static_cast<CollectiveKind>(r.below(static_cast<int64_t>(collectiveKindNames().names.size())));
  std::vector<CollectiveOp> ops;
  for (size_t i = 0; i < collectiveOpNames().names.size(); ++i)
    if (combines(static_cast<CollectiveOp>(i), t))
      ops.push_back(static_cast<CollectiveOp>(i));
  const bool permutes = kind == CollectiveKind::Permute;
  std::vector<int32_t> groups = permutes ? std::vector<int32_t>{0, 0} : std::vector<int32_t>{0};
  if (permutes && r.chance(30))
    groups.clear();
  Buffer &from = source(0, Space::Sbuf, {t}, p, n, true), &to = allocate(0, Space::Sbuf, t, p, n);
  Op op(0, Engine::GpSimd, "collective");
  op.out("dst", whole(to)).in("src", randomView(from, p, n, true, false));
  op.set("kind", static_cast<int32_t>(kind)).set("op", static_cast<int32_t>(r.pick(ops)));
  op.set("ranks", int32_t{1}).set("width", int32_t{permutes ? 2 : 1}).set("groups", groups);
  op.queue(queue(0, Engine::GpSimd));
  s.add(std::move(op));
  to.defined = true;
}

// Both cores run a loop of the same fixed count and meet, or exchange, in every iteration.
void Generator::meetInLoop() {
  const int p = partitions();
  const int64_t n = r.between(1, 4);
  const auto N = static_cast<uint32_t>(n);
  const auto count = static_cast<int32_t>(r.between(1, 3));
  const bool barrier = r.chance(50);
  const std::string name = format("l%d", s.size());
  const Engine e = r.chance(50) ? Engine::Vector : Engine::Scalar;
  const int pipe = 8 + s.size();
  for (int core = 0; core < 2; ++core) {
    Buffer &a = allocate(core, Space::Sbuf, DType::F32, p, n), &c = allocate(core, Space::Sbuf, DType::F32, p, n * count);
    fill(a);
    fill(c);
    a.reserved = c.reserved = true;
    const int iv = reg(core, e), done = barrier ? -1 : s.semaphore(core);
    const Operand slot = moved(view(c, {{1, N}}), iv, 4 * n, 0, count - 1);
    Op before(core, e, "nop");
    before.touches = {whole(a).touch, whole(c).touch};
    before.touches[0].write = before.touches[1].write = true;
    s.add(std::move(before));
    Op begin(core, e, "loop"), op(core, e, barrier ? "core_barrier" : "sendrecv"), wait(core, e, "nop"),
        end(core, e, "end_loop");
    begin.reg("iv", iv).set("count", count).set("group", name).set("end", int32_t{0});
    if (barrier) {
      op.set("name", name);
    } else {
      op.out("dst", slot).in("src", whole(a)).pipe(pipe % 256);
      op.updates.push_back({done, 16});
      wait.waits.push_back({done, -1, 16, true});
    }
    end.set("begin", int32_t{0});
    begin.inner = op.inner = wait.inner = end.inner = true;
    const int from = s.add(std::move(begin));
    s.add(std::move(op));
    s.add(std::move(wait));
    const int to = s.add(std::move(end));
    s.label(from, to);
    s.label(to, from);
    Op after(core, e, "nop");
    after.touches = {whole(a).touch, whole(c).touch};
    after.touches[0].write = after.touches[1].write = true;
    s.add(std::move(after));
    a.reserved = c.reserved = false;
  }
}

} // namespace glia::mutants
