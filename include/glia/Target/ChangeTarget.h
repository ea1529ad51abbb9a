// A target with other values: what would be if the machine were different.
#pragma once
#include "glia/Target/Target.h"

namespace glia {

struct TargetChange {
  std::string key;     // "dma.fixed_latency"
  double value = 0;    // what it becomes, or
  bool factor = false; // what it is multiplied with
};

// "dma.fixed_latency=0,clock.vector=2x". Throws Error TARGET-CHANGE for anything else.
std::vector<TargetChange> parseChanges(std::string_view text);

// The target with these values, which are marked as assumed; checked like any target file. Throws Error TARGET-KEY for a key it does not have.
std::shared_ptr<const Target> changeTarget(const Target &t, const std::vector<TargetChange> &changes);

} // namespace glia
