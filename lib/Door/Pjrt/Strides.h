// Arrays that do not lie row by row.
#pragma once
#include "PjrtAbi.h"

#include <span>
#include <vector>

namespace glia::pjrt {

using Shape = std::vector<int64_t>;

Shape rowMajor(std::span<const int64_t> dims, int64_t elementBytes); // byte strides
bool isRowMajor(std::span<const int64_t> dims, std::span<const int64_t> strides, int64_t elementBytes);

// The byte strides that a layout means. Throws Failure PJRT-LAYOUT for tiles and for what is no order of the dimensions.
Shape stridesOf(const MemoryLayout &layout, std::span<const int64_t> dims, int64_t elementBytes);

// Copies an array; strides may be negative or zero.
void copyStrided(std::byte *to, std::span<const int64_t> toStrides, const std::byte *from,
                 std::span<const int64_t> fromStrides, std::span<const int64_t> dims, int64_t elementBytes);

} // namespace glia::pjrt
