// How the predicted time of a program changes with the machine.
#pragma once
#include "glia/Program/Program.h"
#include "glia/Sim/Timing.h"
#include "glia/Support/Diagnostic.h"
#include "glia/Target/ChangeTarget.h"

#include <optional>
#include <string>
#include <vector>

namespace glia {

// A program as it is on another machine. What only the compiler looks at (sizes of memories) does not change its time, but the
// other machine may not be able to run it.
struct Elsewhere {
  double total = 0; // ns; 0 if it is
  std::vector<Diagnostic> refused;
};
Elsewhere timeIf(const Program &p, const TimingOptions &options, const std::vector<TargetChange> &changes);

struct WhatIf {
  double before = 0; // ns
  Elsewhere same;
  std::optional<Elsewhere> compiled; // what it is compiled to for the other machine, where there is something to compile
};
std::string whatIfText(const WhatIf &x);
std::string whatIfJson(const WhatIf &x, const std::string &changes);

struct Sensitivity {
  std::string key;
  double value = 0;
  std::string unit;
  double half = 0, twice = 0; // ns with half of the value, and with twice as much; 0: there is no such machine
};
// Of every value of the target that changes the time, those that change it most first.
std::vector<Sensitivity> sensitivities(const Program &p, const TimingOptions &options, double total);
std::string sensitivityText(const std::vector<Sensitivity> &all, double total);
std::string sensitivityJson(const std::vector<Sensitivity> &all, double total);

} // namespace glia
