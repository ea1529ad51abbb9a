// Two orders of a program that end differently: what a race or a possible deadlock means, to be seen and replayed.
#pragma once
#include "glia/Sim/Simulator.h"

namespace glia {

struct FoundOrders {
  std::vector<Schedule> orders; // two that end differently, or none
  uint64_t tried = 0;
  bool all = false; // none, because there are none: every order of a small program was taken
};

// Takes every order of a small program; if they do not all end alike, or there are too many, tries orders for `seconds` at most: instructions that `reported` (of the verifier) names held back, engines and queues held back for
// long, and draws. Races do not end these runs. Throws Error RUN-INPUT, RANK-COUNT.
FoundOrders findOrders(const Program &p, const TensorData &inputs, const std::vector<Diagnostic> &reported, double seconds);

} // namespace glia
