// Where long work asks whether it is to go on, so that Ctrl-C ends it soon.
#pragma once
#include <functional>

namespace glia {

// While it lives, checkpoints of this thread ask this question.
class Watched {
public:
  explicit Watched(std::function<bool()> stop);
  ~Watched();
  Watched(const Watched &) = delete;
  Watched &operator=(const Watched &) = delete;

private:
  std::function<bool()> stop;
  const std::function<bool()> *before;
};

// Throws Interrupted (Sim/Simulator.h) if the answer is yes. Costs little where nobody asks.
void checkpoint();

} // namespace glia
