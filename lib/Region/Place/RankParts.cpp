#include "RankParts.h"

#include <numeric>

namespace glia::emit {

TensorParts partsOf(const Placement &place, llvm::ArrayRef<int64_t> held, int ranks) {
  TensorParts out{place.globalShape, {}, {}};
  if (place.start.empty()) { // each rank's own
    out = {held.vec(), std::vector<int64_t>(held.size(), 1), std::vector<int32_t>(static_cast<size_t>(ranks))};
    out.shape.insert(out.shape.begin(), ranks);
    out.tiles.insert(out.tiles.begin(), ranks);
    std::iota(out.tileOf.begin(), out.tileOf.end(), 0);
    return out;
  }
  for (size_t d = 0; d < place.globalShape.size(); ++d)
    out.tiles.push_back(place.localShape[d] ? place.globalShape[d] / place.localShape[d] : 1);
  for (const std::vector<int64_t> &start : place.start) {
    int64_t tile = 0;
    for (size_t d = 0; d < start.size(); ++d)
      tile = tile * out.tiles[d] + (place.localShape[d] ? start[d] / place.localShape[d] : 0);
    out.tileOf.push_back(static_cast<int32_t>(tile));
  }
  for (size_t d = out.shape.size(); d < held.size(); ++d) {
    out.shape.push_back(held[d]);
    out.tiles.push_back(1);
  }
  return out;
}

} // namespace glia::emit
