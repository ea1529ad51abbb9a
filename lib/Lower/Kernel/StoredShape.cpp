#include "StoredShape.h"

#include <utility>

namespace glia::emit {

std::vector<int64_t> atLeastOne(std::vector<int64_t> shape) {
  if (shape.empty())
    shape.push_back(1);
  return shape;
}

std::vector<int64_t> storedShape(std::vector<int64_t> shape) {
  constexpr size_t kMost = 8;
  shape = atLeastOne(std::move(shape));
  while (shape.size() > kMost) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  return shape;
}

} // namespace glia::emit
