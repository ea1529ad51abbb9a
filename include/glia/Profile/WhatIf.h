// How the predicted time of a program changes with the machine.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"
#include "glia/Target/ChangeTarget.h"

#include <string>
#include <vector>

namespace glia {

// ns with these changes. What only the compiler looks at (sizes of memories) changes nothing here.
double timeIf(const Program &p, const TimingOptions &options, const std::vector<TargetChange> &changes);

struct Sensitivity {
  std::string key;
  double value = 0;
  std::string unit;
  double half = 0, twice = 0; // ns with half of the value, and with twice as much; 0: there is no such machine
};
// Of every value of the target that changes the time, those that change it most first.
std::vector<Sensitivity> sensitivities(const Program &p, const TimingOptions &options, double total);

} // namespace glia
