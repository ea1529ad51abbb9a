// An operand of a contraction that lies the wrong way and is needed more than once: turned once, and then in a tensor of its own in HBM.
#pragma once
#include "OperandPanels.h"

namespace glia::emit {

// The same operand in panels of which a load of `width` free elements takes whole ones, with nothing in them yet.
PanelSource packedLike(KernelBuilder &k, const PanelSource &s, int64_t width);
// Batch b and free elements [x, x + n) from [blocks, free] on chip, of `count` blocks of the contraction from `block` on; the first of them
// is element `at` of the tile.
void storePacked(KernelBuilder &k, const PanelSource &to, const Tile &chip, int64_t b, int64_t x, int64_t n, int64_t block,
                 int64_t count, int64_t at = 0);
// All of it.
PanelSource turnOnce(KernelBuilder &k, const PanelSource &s, int64_t width);

} // namespace glia::emit
