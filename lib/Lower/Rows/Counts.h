// 0, 1, 2 ... in HBM, which views of an `iota` read.
#pragma once
#include "RowsView.h"

#include <map>

namespace glia::emit {

class Counts {
public:
  Tile of(KernelBuilder &k, DType t, const Dims &view); // as far as the view goes

private:
  std::map<std::pair<DType, int64_t>, Tile> made;
};

} // namespace glia::emit
