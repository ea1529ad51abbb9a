// The values of a constant in assembly: a list of numbers, or the bytes in hex.
#pragma once
#include "AsmCursor.h"
#include "glia/Support/DType.h"

#include <cstddef>
#include <span>
#include <vector>

namespace glia {

std::vector<std::byte> parseConstant(AsmCursor &c, DType t, int64_t elements);
std::string printConstant(DType t, std::span<const std::byte> data);

} // namespace glia
