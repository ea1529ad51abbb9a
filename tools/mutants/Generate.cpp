#include "Generate.h"
#include "Generator.h"

#include <algorithm>

namespace glia::mutants {

Program generate(std::shared_ptr<const Target> target, Random &random) {
  const int cores = target->maxCores > 1 && random.chance(35) ? 2 : 1;
  Generator g(target, random, cores);
  const int most = static_cast<int>(random.between(8, 60));
  while (g.s.size() < most) {
    const int core = static_cast<int>(random.below(cores));
    const int64_t what = random.below(100);
    if (what < 45)
      g.compute(core);
    else if (what < 60)
      g.vectorExtras(core);
    else if (what < 75)
      g.activation(core);
    else if (what < 90)
      g.transfer(core);
    else
      g.gather(core);
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
