// Two cores: barriers around shared HBM, and exchanges of tiles. A collective of the only rank.
#include "Generator.h"
#include "glia/ISA/Collective.h"
#include "glia/Support/Diagnostic.h"

namespace glia::kernels {

// Each core writes its part of a shared tensor, both meet, each reads the other's part.
void Generator::meet() {
  const int p = partitions();
  const int64_t n = r.between(1, 16);
  const DType u = type(computeTypes());
  const Hbm h = scratch(u, {2, p, n});
  const std::vector<Step> half = {{n, p}, {1, n}};
  static const Names labels = {"a", "b", "c"};
  const int64_t rounds = r.chance(20) ? 2 : 1; // a second one writes what the first has read
  for (int64_t i = 0; i < rounds; ++i) {
    if (i) {
      const char *between = r.pick(labels);
      for (int core = 0; core < 2; ++core) {
        barrier(core, format("between%s", between));
      }
    }
    for (int core = 0; core < 2; ++core) {
      Tile &from = source(core, Space::Sbuf, {u}, p, n, true);
      Draft d(core, dmaEngine(), "dma_copy");
      d.in("src", randomView(from, p, n, true, false)).out("dst", view(h, half, core * p * n));
      add(d);
      if (r.chance(40))
        any(core);
    }
    const char *name = r.pick(labels);
    for (int core = 0; core < 2; ++core) {
      barrier(core, name);
    }
    for (int core = 0; core < 2; ++core) {
      Tile &to = allocate(core, Space::Sbuf, u, p, n);
      Draft d(core, dmaEngine(), "dma_copy");
      d.in("src", view(h, half, (1 - core) * p * n)).out("dst", whole(to));
      add(d);
    }
  }
}

// A name belongs to one engine of each core.
void Generator::barrier(int core, const std::string &name) {
  Draft d(core, GPSIMD, "core_barrier");
  d.set("name", name.c_str());
  add(d);
}

void Generator::exchange() {
  const int p = partitions();
  const int64_t n = r.between(1, 8);
  const DType u = type(computeTypes());
  const bool small = has("gpsimd_dma") && r.chance(30);
  const int e = small ? GPSIMD : SYNC;
  for (int core = 0; core < 2; ++core) {
    Tile &from = source(core, Space::Sbuf, {u}, p, n, true);
    Tile &to = allocate(core, Space::Sbuf, u, p, n);
    Draft d(core, e, "sendrecv");
    d.in("src", randomView(from, p, n, true, false)).out("dst", whole(to)).set("pipe", small ? int32_t{1} : int32_t{0});
    if (small)
      d.set("engine", "gpsimd_dma");
    add(d);
    if (r.chance(30))
      any(core);
  }
}

// The program is for one rank, which meets itself: it gets what it gave, or zeros from a permutation without pairs.
void Generator::collective() {
  const int p = partitions();
  const int64_t n = r.between(1, 8);
  const DType u = type(computeTypes());
  const CollectiveKind kind = static_cast<CollectiveKind>(r.below(static_cast<int64_t>(collectiveKindNames().names.size())));
  std::vector<CollectiveOp> ops;
  for (size_t i = 0; i < collectiveOpNames().names.size(); ++i)
    if (combines(static_cast<CollectiveOp>(i), u))
      ops.push_back(static_cast<CollectiveOp>(i));
  const bool permutes = kind == CollectiveKind::Permute;
  std::vector<int32_t> groups = permutes ? std::vector<int32_t>{0, 0} : std::vector<int32_t>{0};
  if (permutes && r.chance(30))
    groups.clear();
  Draft d(0, GPSIMD, "collective");
  d.in("src", randomView(source(0, Space::Sbuf, {u}, p, n, true), p, n, true, false));
  if (r.chance(50)) {
    d.out("dst", whole(allocate(0, Space::Sbuf, u, p, n)));
  } else {
    const Hbm y = output(u, {p, n});
    d.out("dst", view(y, {{n, p}, {1, n}}));
  }
  d.set("kind", static_cast<int32_t>(kind)).set("op", static_cast<int32_t>(r.pick(ops)));
  d.set("ranks", int32_t{1}).set("width", int32_t{permutes ? 2 : 1}).set("groups", groups);
  add(d);
}

// Both cores run a loop of the same count and meet, or exchange, in every iteration.
void Generator::meetInLoop() {
  const int p = partitions();
  const int64_t n = r.between(1, 4), most = r.between(1, 3);
  const bool barrier = r.chance(50);
  const bool counted = !barrier || r.chance(70); // an exchange in a loop that may not run teaches nothing afterwards
  const Hbm count = counted ? Hbm() : rangedInput(DType::I32, {1}, 0, most);
  const std::string name = format("loop%d", static_cast<int>(t.instructions()));
  for (int core = 0; core < 2; ++core) {
    Tile &a = allocate(core, Space::Sbuf, DType::F32, p, n), &b = allocate(core, Space::Sbuf, DType::F32, p, n * most);
    fill(a);
    fill(b);
    a.reserved = b.reserved = true;
    go(core);
    int handle = -1;
    if (!counted) {
      handle = t.makeRegister();
      Draft d(core, SYNC, "reg_load");
      d.in("src", wholeOf(count)).reg("dst", t.registerValue(handle));
      add(d);
      Draft clamp(core, SYNC, "reg_alu");
      clamp.reg("dst", t.registerValue(handle)).reg("a", t.registerValue(handle)).set("op", "min");
      clamp.set("b", static_cast<int32_t>(most));
      add(clamp);
    }
    const mlir::Value iv = t.registerValue(t.loop(most, handle, 0));
    beginLoop(core);
    if (barrier) {
      this->barrier(core, name);
    } else {
      Draft d(core, SYNC, "sendrecv");
      d.in("src", whole(a)).out("dst", moved(view(b, {{1, n}}), iv, 4 * n)).set("pipe", int32_t{2});
      add(d);
      Draft step(core, VECTOR, "tensor_tensor");
      step.in("a", whole(a)).in("b", moved(view(b, {{1, n}}), iv, 4 * n)).set("op", "add").out("dst", whole(a));
      add(step);
    }
    if (r.chance(40))
      any(core);
    t.endLoop();
    endLoop(core);
    a.reserved = b.reserved = false;
  }
}

} // namespace glia::kernels
