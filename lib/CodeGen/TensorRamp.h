// The Tensor engine starts slowly, and again after a stretch in which it had little to do (docs/timing.md).
#pragma once
#include "glia/Target/Target.h"

#include <algorithm>

namespace glia::codegen {

class Ramp {
public:
  Ramp(const Target &t)
      : time(t.number("cost.tensor_ramp_time")), rate(std::clamp(t.number("cost.tensor_ramp_rate"), 0.01, 1.0)), cold(time) {
  }
  // By how much an instruction takes longer.
  double slower(double start, double busy) {
    if (start - from >= time) {
      if (2 * worked < start - from)
        cold = time;
      from = start;
      worked = 0;
    }
    const double slow = std::min(cold, busy / rate), more = slow * (1 - rate);
    cold -= slow;
    worked += busy + more;
    return more;
  }

private:
  const double time, rate;
  double cold, from = 0, worked = 0;
};

} // namespace glia::codegen
