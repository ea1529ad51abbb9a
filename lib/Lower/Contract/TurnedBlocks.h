// Blocks of an operand as they lie, turned on chip: bit by bit on every target.
#pragma once
#include "TurnShares.h"
#include "glia/Lower/KernelBuilder.h"

#include <optional>

namespace glia::emit {

// Where no engine turns 128 x 128 elements at a time but for multiplying them, 16 bits of an element at a time are turned as a number from
// 0 to 65535: a product of these in fp32 with an identity is exact, whatever the bits mean. Whether the target gains by that.
bool turnsBytes(const Target &t, DType type);
// Bytes per partition that it takes.
inline constexpr int64_t kTurnedBytes = 5'120;

Tile identityOf(KernelBuilder &k); // on chip, fp32

inline constexpr int64_t kTurnedSide = 128, kTurnedTogether = 4; // of a block; blocks that share instructions

// How blocks are turned where Tensor moves no bits.
struct Turning {
  std::optional<Tile> identity; // none: Vector turns them
  bool byScalar =
      false; // Scalar takes what is turned from PSUM, and others make the numbers, instead of the other way round
  bool scalarAlone = false;     // Scalar does both
  TurnShares *shares = nullptr; // if any, they say who turns
};

// out[c, i, r] = rows[r, side i + c]: `rows` is [<= 128, elements], `out` [side, blocks, rows]; the last block may have fewer partitions.
void turnBlocks(KernelBuilder &k, const Tile &out, const Tile &rows, const Turning &how, int64_t side = kTurnedSide);

// Two neighbours of 16 bits each as one element of 32 bits: `t` has an even offset and an even number of elements.
Tile pairsOf(const Tile &t);

} // namespace glia::emit
