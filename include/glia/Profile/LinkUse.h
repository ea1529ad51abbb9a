// What the exchanges of a program of several ranks ask of what lies between them, while a predicted run goes on.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"

#include <string>
#include <utility>
#include <vector>

namespace glia {

struct LinkUse {
  std::string name; // "links along x", "EFA", "HBM of a rank", "engines of a rank"
  double busy = 0;  // ns that it would take at its full rate
  double most = 0;  // the largest share of its rate that is asked for at a time
  std::vector<std::pair<double, double>> shares; // when the share changes, and to what; in the order of time
};
// Of the busiest chip, host or rank; those that no exchange needs are left out. Needs a timeline (TimingOptions::timeline).
std::vector<LinkUse> linkUse(const Program &p, const TimingResult &r);

// Whether an event is an exchange under way.
bool isExchange(const Program &p, const TimelineEvent &e);

} // namespace glia
