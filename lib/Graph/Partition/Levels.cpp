#include "Levels.h"

#include "llvm/ADT/STLExtras.h"

namespace glia::partition {

std::optional<std::vector<Level>> levelsOf(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> places) {
  std::vector<Level> levels;
  auto behind = static_cast<int64_t>(places.size());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    behind /= sizes[axis];
    const auto place = [&](int64_t i) { return places[static_cast<size_t>(i * behind)] - places[0]; };
    std::vector<Level> own; // the minor one first
    for (int64_t done = 1; done < sizes[axis];) {
      const int64_t stride = place(done);
      int64_t size = 1;
      while (size * done < sizes[axis] && place(size * done) == size * stride)
        ++size;
      own.push_back({size, stride, axis});
      done *= size;
      if (size < 2 || sizes[axis] % done)
        return std::nullopt;
    }
    levels.insert(levels.end(), own.rbegin(), own.rend());
  }
  // Each level steps over all that are minor to it, and together they reach every device.
  std::vector<Level> sorted = levels;
  llvm::sort(sorted, [](const Level &a, const Level &b) { return a.stride < b.stride; });
  int64_t product = 1;
  for (const Level &l : sorted) {
    if (l.stride != product)
      return std::nullopt;
    product *= l.size;
  }
  if (product != static_cast<int64_t>(places.size()))
    return std::nullopt;
  for (size_t n = 0; n < places.size(); ++n) {
    auto left = static_cast<int64_t>(n);
    int64_t place = 0;
    for (const Level &l : llvm::reverse(levels)) {
      place += left % l.size * l.stride;
      left /= l.size;
    }
    if (place != places[n])
      return std::nullopt;
  }
  return levels;
}

} // namespace glia::partition
