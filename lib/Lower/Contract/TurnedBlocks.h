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

Tile identityOf(KernelBuilder &k, DType type = DType::BF16); // on chip

inline constexpr int64_t kTurnedSide = 128, kTurnedTogether = 4; // of a block; blocks that share instructions

// out[c, i, r] = rows[r, side i + c]: `rows` is [<= 128, elements], `out` [side, blocks, rows]; the last block may have fewer partitions.
// `byScalar`: the Scalar engine takes what is turned from PSUM, and others take the bytes apart, instead of the other way round.
void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const std::optional<Tile> &identity,
                int64_t side = kTurnedSide, bool byScalar = false);

} // namespace glia::emit
