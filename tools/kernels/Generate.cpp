#include "Generate.h"
#include "Generator.h"

#include <algorithm>

namespace glia::kernels {

void Generator::any(int core) {
  const int64_t what = r.below(100);
  if (what < 34)
    compute(core);
  else if (what < 44)
    reduce(core);
  else if (what < 52)
    vectorExtras(core);
  else if (what < 60)
    activation(core);
  else if (what < 68)
    matmul(core);
  else if (what < 71)
    firstWrites(core);
  else if (what < 80)
    gpsimd(core);
  else if (what < 88)
    transfer(core);
  else if (what < 93)
    gather(core);
  else
    registers(core);
}

Generated generate(const std::shared_ptr<const Target> &target, Random &random) {
  const int cores = target->maxCores > 1 && random.chance(35) ? 2 : 1;
  Generator g(target, random, cores);
  Random &r = g.r;
  const uint64_t most = static_cast<uint64_t>(r.between(8, 60));
  const bool crowded = r.chance(15), scarce = !crowded && r.chance(8);
  for (int core = 0; crowded && core < cores; ++core)
    g.crowd(core);
  int chained = 0;
  while (g.t.instructions() < most) {
    const int core = static_cast<int>(r.below(cores));
    const int64_t what = r.below(100);
    if (chained == 0 && r.chance(4)) {
      g.go(core);
      g.t.chain(true);
      chained = static_cast<int>(r.between(1, 3));
    }
    if (what < 72)
      g.any(core);
    else if (what < 73)
      g.collective();
    else if (what < 80)
      g.aliases(core);
    else if (what < 90 || cores == 1)
      g.loop(core);
    else if (what < 94)
      g.exchange();
    else if (what < 98)
      g.meet();
    else
      g.meetInLoop();
    if (chained) {
      --chained;
      if (!chained)
        g.t.chain(false);
    }
    if (!crowded && r.chance(30))
      g.retire();
    if (scarce && r.chance(10))
      g.pressure(core);
  }
  if (chained)
    g.t.chain(false);
  // What is worth keeping goes out.
  int stored = 0;
  const size_t known = g.tiles.size();
  for (size_t i = 0; i < known; ++i)
    if (Tile &x = g.tiles[i];
        !x.dead && !x.reserved && !x.big && x.defined && (stored == 0 || r.chance(crowded ? 80 : 30))) {
      g.store(x);
      ++stored;
    }
  if (!stored) {
    Tile &x = g.allocate(0, Space::Sbuf, DType::F32, 8, 4);
    g.fill(x);
    g.store(x);
  }
  for (int core = 0; crowded && core < cores; ++core)
    g.uncrowd(core);
  return {g.t.finish(), std::move(g.inputs)};
}

} // namespace glia::kernels
