// Transfers in loops: one in and one out per iteration, or unrolled over several buffers.
#include "Loop.h"
#include "glia/Support/Diagnostic.h"

namespace glia::mutants {

// One transfer in, one computation and one transfer out per iteration.
void Generator::streamInLoop(int core) {
  Generator &g = *this;
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
  const Hbm x = g.tensor("x", TensorKind::Input, DType::F32, {loop.count(), p, n}),
            y = g.tensor("y", TensorKind::Output, DType::F32, {loop.count(), p, n});
  const Hbm clear = g.tensor("c", TensorKind::Constant, DType::F32, {1});
  Op zero = g.dma(core, queueEngine); // an output is written even if the loop runs zero times
  zero.out("dst", g.view(y, {{1, static_cast<uint32_t>(y.elements)}}))
      .in("src", g.view(clear, {{0, static_cast<uint32_t>(y.elements)}}));
  zero.queue(g.queue(core, queueEngine));
  g.s.add(std::move(zero));
  const int loaded = g.s.semaphore(core), done = g.s.semaphore(core), stored = g.s.semaphore(core);
  Op load = g.dma(core, queueEngine);
  load.out("dst", g.whole(t))
      .in("src", loop.stepping(g.view(x, rows), move, 4 * tile))
      .set("dge", dge)
      .queue(g.queue(core, queueEngine));
  load.updates.push_back({loaded, 16});
  move.body.push_back(std::move(load));
  Op op = loopCompute(g, core, e, g.whole(u), g.whole(t));
  op.waits.push_back({loaded, -1, 16, true});
  op.updates.push_back({done, 1});
  work.body.push_back(std::move(op));
  Op store = g.dma(core, queueEngine);
  store.out("dst", loop.stepping(g.view(y, rows), move, 4 * tile))
      .in("src", g.whole(u))
      .set("dge", dge)
      .queue(g.queue(core, queueEngine));
  store.waits.push_back({done, -1, 1, true});
  store.updates.push_back({stored, 16});
  move.body.push_back(std::move(store));
  Op drain(core, queueEngine, "nop");
  drain.waits.push_back({stored, -1, 16, true});
  move.body.push_back(std::move(drain));
  loop.emit(format("g%d", g.s.size()));
}

// Loads, computation and stores each on an engine of its own, R buffers, the body unrolled R times (idiom 5).
void Generator::unrolledLoop(int core) {
  Generator &g = *this;
  if (!g.has("hwdge"))
    return streamInLoop(core);
  const bool swapped = g.r.chance(50);
  const Engine loader = swapped ? Engine::GpSimd : Engine::Sync, storer = swapped ? Engine::Sync : Engine::GpSimd,
               e = g.r.chance(50) ? Engine::Vector : Engine::Scalar;
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
  zero.out("dst", g.view(y, {{1, static_cast<uint32_t>(y.elements)}}))
      .in("src", g.view(clear, {{0, static_cast<uint32_t>(y.elements)}}));
  zero.queue(g.queue(core, storer));
  g.s.add(std::move(zero));
  for (int64_t i = 0; i < rings; ++i) {
    Buffer &t = g.allocate(core, Space::Sbuf, DType::F32, p, n), &u = g.allocate(core, Space::Sbuf, DType::F32, p, n);
    t.reserved = u.reserved = true; // never used again: the last transfers are not waited for
    const int free = g.s.semaphore(core, 1), full = g.s.semaphore(core), done = g.s.semaphore(core),
              stored = g.s.semaphore(core, 16);
    Op load = g.dma(core, loader), op = loopCompute(g, core, e, g.whole(u), g.whole(t)), store = g.dma(core, storer);
    load.out("dst", g.whole(t))
        .in("src", loop.stepping(g.view(x, rows, i * tile), in, 4 * tile * rings))
        .set("dge", dge(loader));
    load.queue(g.queue(core, loader));
    load.waits.push_back({free, -1, 1, true});
    load.updates.push_back({full, 16});
    op.waits = {{full, -1, 16, true}, {stored, -1, 16, true}};
    op.updates = {{free, 1}, {done, 1}};
    store.out("dst", loop.stepping(g.view(y, rows, i * tile), out, 4 * tile * rings))
        .in("src", g.whole(u))
        .set("dge", dge(storer));
    store.queue(g.queue(core, storer));
    store.waits.push_back({done, -1, 1, true});
    store.updates.push_back({stored, 16});
    in.body.push_back(std::move(load));
    work.body.push_back(std::move(op));
    out.body.push_back(std::move(store));
  }
  loop.emit(format("g%d", g.s.size()));
}

} // namespace glia::mutants
