// Runs a small program in every order that docs/ordering.md allows, up to equivalence. docs/every-order.md says how.
#pragma once
#include "glia/Sim/Simulator.h"

namespace glia {

struct OrderOptions {
  uint64_t maxStates = 200'000; // more than so many: Error RUN-ORDERS
  // Leave out orders that cannot end differently from one that is taken. Without it every state is visited.
  bool reduce = true;
  bool untilWrong = false;  // end the search at the first fault or at the second outcome
  bool wholeMemory = false; // ends with the same outputs and another byte anywhere else are two outcomes
  StopQuestion stop;
};

// One way for the program to end.
struct OrderOutcome {
  TensorData outputs;              // of a run that ended well
  std::optional<Diagnostic> fault; // or what went wrong
  std::optional<Diagnostic> trap;
  std::vector<std::string> order; // the steps that lead here
};

struct OrderResult {
  uint64_t states = 0, steps = 0;     // visited, taken
  uint64_t different = 0, faults = 0; // how many outcomes there are, and how many of them are faults
  std::vector<OrderOutcome> outcomes; // the first kMostOutcomes of them
  static constexpr size_t kMostOutcomes = 32;
  bool ok() const { return different == 1 && !faults; } // one outcome, and no fault; a guarded trap is an outcome
};

// Throws Error RUN-INPUT as `run` does, and RUN-ORDERS.
OrderResult runEveryOrder(const Program &p, const TensorData &inputs, const OrderOptions &options = {});

} // namespace glia
