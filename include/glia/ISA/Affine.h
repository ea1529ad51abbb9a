// The affine patterns of iota and affine_select: offset + partition * multiplier + sum of step * index, in wrapping int32.
#pragma once
#include "glia/ISA/Check.h"
#include "glia/ISA/Exec.h"

#include <vector>

namespace glia {

// rule IOTA-PATTERN: one to four (step, count) pairs whose counts multiply to the elements per partition of `like`.
void checkAffine(Check &c, int patternSlot, int like);
// The terms of one partition without its own part, in element order.
std::vector<int32_t> affineRow(Exec &x, int patternSlot, int32_t offset);

inline int32_t wrapAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t wrapMul(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

} // namespace glia
