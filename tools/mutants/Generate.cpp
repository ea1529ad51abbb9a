#include "Generate.h"
#include "Generator.h"

#include <algorithm>

namespace glia::mutants {

Program generate(const std::shared_ptr<const Target> &target, Random &random) {
  const int cores = target->maxCores > 1 && random.chance(35) ? 2 : 1;
  Generator g(target, random, cores);
  const int most = static_cast<int>(random.between(8, 60));
  while (g.s.size() < most) {
    const int core = static_cast<int>(random.below(cores));
    const int64_t what = random.below(100);
    if (what < 30)
      g.compute(core);
    else if (what < 40)
      g.vectorExtras(core);
    else if (what < 48)
      g.activation(core);
    else if (what < 56)
      g.transfer(core);
    else if (what < 63)
      g.gather(core);
    else if (what < 71)
      g.matmul(core);
    else if (what < 72)
      g.collective();
    else if (what < 80)
      g.gpsimd(core);
    else if (what < 86)
      g.registers(core);
    else if (what < 89)
      g.branch(core);
    else if (cores == 1 || what < 93)
      g.loop(core);
    else if (what < 96)
      g.exchange();
    else if (what < 99)
      g.meet();
    else
      g.meetInLoop();
    if (random.chance(30))
      g.retire();
  }
  // What is worth keeping goes out.
  int stored = 0;
  for (Buffer &buf : g.buffers)
    if (!buf.dead && !buf.reserved && buf.defined && buf.space == Space::Sbuf && (stored == 0 || random.chance(25))) {
      g.store(buf);
      ++stored;
    }
  g.s.finish();
  return g.b.finish();
}

} // namespace glia::mutants
