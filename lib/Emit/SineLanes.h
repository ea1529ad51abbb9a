// Sine and cosine on a tile: right for every fp32 number.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

// Up to this size an argument loses whole half turns by three exact subtractions and a rounded one.
inline constexpr double kSmallAngle = 65536;

// `small`: every finite element is known to be at most kSmallAngle in size. Infinities and NaN give NaN.
void sine(RowsLanes &lanes, const Tile &dst, const Tile &x, bool quarterAhead, bool small);

} // namespace glia::emit
