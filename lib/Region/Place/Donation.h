// Arguments that the caller gives away: a result may take the place of one of them in HBM.
#pragma once
#include "glia/Lower/Family.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

struct Donation {
  unsigned argument = 0, result = 0; // of equal type
};

// What the attributes of the arguments ask for: `tf.aliasing_output` names the result, `jax.buffer_donor` leaves the choice. Throws Error
// GRAPH-DONATION if a result is named that does not exist, has another type or is named twice.
std::vector<Donation> donationsOf(mlir::func::FuncOp main);

// Puts groups that write such a result behind those that read the argument, where the graph allows it.
void orderForDonations(std::vector<Group> &groups, mlir::func::FuncOp main, const std::vector<Donation> &donations);

} // namespace glia::emit
