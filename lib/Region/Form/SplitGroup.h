// Half of a group, for each of two cores: its results cut in the middle of their first dimension, each input whole or cut likewise. The
// halves compute nothing in common, so the cores need not talk inside a kernel.
#pragma once
#include "glia/Lower/Family.h"
#include "glia/Graph/Graph.h"

#include "mlir/IR/OwningOpRef.h"

namespace glia::emit {

struct HalfGroup {
  mlir::OwningOpRef<mlir::ModuleOp> module; // holds the operations
  Group group;                              // with halved shapes; inputs and outputs in the order of the whole group's
  std::vector<int> inputDims, outputDims;   // the dimension that is cut; -1: whole
};

// nullopt: the group cannot be cut this way and runs on one core.
std::optional<HalfGroup> halveGroup(const Group &g);

} // namespace glia::emit
