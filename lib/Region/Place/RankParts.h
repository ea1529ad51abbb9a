// Where the parts of arguments and results lie, as programs say it.
#pragma once
#include "glia/Graph/Partition.h"
#include "glia/Program/TensorParts.h"

namespace glia::emit {

// `held`: the shape of a part as it is held. It may have more dimensions than the graph's tensor, behind: an element held as two numbers, a scalar as one. A tensor of
// each rank's own has one more in front, for the ranks.
TensorParts partsOf(const Placement &place, llvm::ArrayRef<int64_t> held, int ranks);

} // namespace glia::emit
