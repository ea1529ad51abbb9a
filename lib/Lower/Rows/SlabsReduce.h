// Reductions of a tile whose columns lie `width` apart: [partitions, rows x width] to fp32.
#pragma once
#include "glia/Lower/KernelBuilder.h"

namespace glia::emit {

inline constexpr int64_t kBank = 512; // fp32 elements of a bank of PSUM

// The rows of each partition: [partitions, width].
Tile foldRows(KernelBuilder &k, const Tile &data, int64_t rows, int64_t width, std::string_view op);

// The largest or smallest (`op`) of each column over all rows and partitions: [width, 1], a column on each partition; width <= 128.
Tile mostPerColumn(KernelBuilder &k, const Tile &data, int64_t rows, int64_t width, std::string_view op);

} // namespace glia::emit
