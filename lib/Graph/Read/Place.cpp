#include "Place.h"

using namespace mlir;

namespace glia::graph {

SourcePlace placeOf(Location location) {
  SourcePlace place;
  location->walk([&](Location l) {
    const auto file = dyn_cast<FileLineColRange>(l);
    if (!file)
      return WalkResult::advance();
    place = {file.getFilename().str(), file.getStartLine(), file.getStartColumn()};
    return WalkResult::interrupt();
  });
  return place;
}

} // namespace glia::graph
