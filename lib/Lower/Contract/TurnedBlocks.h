// Blocks of an operand as they lie, turned on chip: bit by bit on every target.
#pragma once
#include "glia/Lower/KernelBuilder.h"

#include <optional>

namespace glia::emit {

// Where no engine turns 128 x 128 elements at a time but for multiplying them, elements of 16 and 32 bits are turned as bytes, which are
// numbers from 0 to 255: products of these with an identity are exact, whatever the bits mean. Whether the target gains by that.
bool turnsBytes(const Target &t, DType type);
// Bytes per partition that it takes.
inline constexpr int64_t kTurnedBytes = 5'120;

Tile identityOf(KernelBuilder &k); // on chip

// out[c, i, r] = rows[r, 128 i + c]: `rows` is [<= 128, elements], `out` [128, blocks, rows]; the last block may have fewer partitions.
void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const std::optional<Tile> &identity);

} // namespace glia::emit
