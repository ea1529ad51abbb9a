// Lists of devices as grids.
#pragma once
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace glia::partition {

// A step in a list of devices: the next index of `axis`, at this level of it, is `stride` devices further.
struct Level {
  int64_t size, stride;
  size_t axis;
};

// `places` are the numbers of devices, row-major over axes of these sizes. The levels are in the order of the axes, the major one of each axis
// first; together they count every device once. Nothing if the devices lie on no such grid.
std::optional<std::vector<Level>> levelsOf(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> places);

} // namespace glia::partition
