// A dot_general as four runs of indices: batches, rows, columns and the contraction, as few axes each as its tensors allow.
#pragma once
#include "ContractPlan.h"

namespace glia::emit {

struct DotAxes {
  std::vector<ContractAxis> batch, rows, columns, contract;
  int rowSide = 0; // the operand whose rows they are
};

// `sides` are the operands, null for one number everywhere; `others` the strides of the epilogue's tensors, the last of which is stored.
DotAxes axesOf(graph::DotGeneralOp op, const Tile *const (&sides)[2], const std::vector<std::vector<int64_t>> &others);

} // namespace glia::emit
