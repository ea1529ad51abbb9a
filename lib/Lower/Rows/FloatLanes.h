// Functions of floats on a tile that take many instructions.
#pragma once
#include "RowsLanes.h"

namespace glia::emit {

void arcTangent(RowsLanes &lanes, const Tile &dst, const Lane &x);
void exponentialMinusOne(RowsLanes &lanes, const Tile &dst, const Tile &x);
void logPlusOne(RowsLanes &lanes, const Tile &dst, const Tile &x);
void floatRemainder(RowsLanes &lanes, const Tile &dst, const Lane &x, const Lane &y); // as C's fmod, exactly

} // namespace glia::emit
