// Running folds (sums, products, maxima) of any type in both directions, with every partition at work: the folded dimension is cut into
// segments, one per partition where rows are few, and these into parts, which are folded side by side.
#pragma once
#include "Lower/Rows/Combine.h"

namespace glia::emit {

// The tensors are [outer, length, inner], row-major; the length is folded.
struct FoldForm {
  int64_t outer = 1, length = 1, inner = 1;
  bool backward = false;
  Combiner c;
  double start = 0;
  Tile in, out;
};

void emitFoldSegments(KernelBuilder &k, const FoldForm &f);

} // namespace glia::emit
