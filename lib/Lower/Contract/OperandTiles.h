// Brings blocks of an HBM matrix on chip with a chosen side on the partitions, whichever way they lie in memory.
#pragma once
#include "glia/Lower/KernelBuilder.h"

namespace glia::emit {

// `matrix` is [rows, columns] in HBM (two dims, any strides). Loads rows [r, r+n) x columns [c, c+m) as a tile with the rows on partitions
// (n <= 128), of type `t`. Adjacent columns are read as they lie; adjacent rows are read the other way round and transposed on chip.
Tile loadBlock(KernelBuilder &k, const Tile &matrix, int64_t r, int64_t n, int64_t c, int64_t m, DType t);

// dst[f, p] = src[p, f] for tiles of SBUF with at most 128 partitions and elements, bit by bit on every target.
void transposeTile(KernelBuilder &k, const Tile &dst, const Tile &src);

} // namespace glia::emit
