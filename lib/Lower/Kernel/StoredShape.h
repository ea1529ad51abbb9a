// The shape of a tile in HBM, and of the tensor behind it: the machine's tensors have one dimension at least, and eight at most. Of more,
// the first ones are one.
#pragma once
#include <cstdint>
#include <vector>

namespace glia::emit {

std::vector<int64_t> atLeastOne(std::vector<int64_t> shape);
std::vector<int64_t> storedShape(std::vector<int64_t> shape);

} // namespace glia::emit
