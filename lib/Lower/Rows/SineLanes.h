// Sine and cosine on a tile: right for every fp32 number.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

// Up to these sizes turns, and half turns, are taken off by exact products.
inline constexpr double kSmallAngle = 65536, kNearAngle = 128;

enum class Angles : uint8_t {
  Any,   // every finite angle: the sine to its last bits, also where it is small
  Small, // every finite element is known to be small: an absolute error of 2^-22
  Near,  // every finite element is known to be near: to the last bits
};

// Infinities and NaN give NaN.
void sine(RowsLanes &lanes, const Tile &dst, const Tile &x, bool quarterAhead, Angles angles);

} // namespace glia::emit
