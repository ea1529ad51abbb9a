// Faults for the emitters of kernels, and how small `glia reduce` makes a random graph that meets one.
#pragma once
#include "glia/Dialect/Kernel.h"

#include <string>

namespace glia::graphs {

// An emitter writes one thing for another, wherever it does.
struct Fault {
  const char *instruction, *slot, *right, *wrong; // `wrong` is null: the instruction is left out
  std::string name() const;
  void plant(nisa::Kernel &kernel) const;
};

struct Reduced {
  std::string keeps; // the code that the graph fails with; empty: nobody notices the fault in it
  size_t before = 0, after = 0, bytes = 0;
  double seconds = 0;
  int tries = 0;
  std::string text;
  bool failsStill = false; // judged once more
};

const std::vector<Fault> &plantedFaults();
Reduced reducePlanted(const std::string &text, const std::string &target, const Fault &fault, double seconds);

} // namespace glia::graphs
