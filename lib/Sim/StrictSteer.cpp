// Steered orders: everyone has a priority, and whoever has the highest of those that can move goes on. Now and then the one
// that goes becomes the last of all. So engines, queues or single parts are held back as long as anything else can happen, or
// run as far ahead as they can: what a draw at each step does only rarely.
#include "Strict.h"

namespace glia::sim {

void Strict::steer() {
  const auto draw = [&] { return static_cast<int64_t>(random.next() >> 2); };
  for (size_t i = 0; i < streams.size(); ++i)
    steering.engines.push_back(draw());
  const bool whole = random.chance(50); // the parts of a queue stay together
  for (size_t q = 0; q < queues.size(); ++q) {
    const int64_t together = draw();
    for (int e = 0; e < parts; ++e)
      steering.parts.push_back(whole ? together : draw());
  }
  steering.stretch = int64_t{4} << random.below(8);
}

bool Strict::pickSteered(bool withHeld) {
  int64_t best = 0;
  StreamState *engine = nullptr;
  size_t part = active.size();
  bool any = false;
  for (StreamState &s : streams)
    if (const int64_t p = steering.engines[streamIndex(s)]; (!any || p > best) && canStep(s) && (withHeld || !isHeld(s))) {
      any = true;
      best = p;
      engine = &s;
    }
  for (size_t i = 0; i < active.size(); ++i)
    if (const int64_t p = steering.parts[active[i]]; (!any || p > best) && (withHeld || !isHeldPart(active[i]))) {
      any = true;
      best = p;
      engine = nullptr;
      part = i;
    }
  if (!any)
    return false;
  if (random.below(steering.stretch) == 0)
    (engine ? steering.engines[streamIndex(*engine)] : steering.parts[active[part]]) = --steering.lowest;
  engine ? step(*engine) : stepPart(part);
  return true;
}

} // namespace glia::sim
