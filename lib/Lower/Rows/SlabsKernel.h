// Writes a group whose reductions go over an axis that is not the last.
#pragma once
#include "SlabsPlan.h"

#include <span>

namespace glia::emit {

void writeSlabs(KernelBuilder &k, const Group &g, SlabsPlan plan, std::span<const Tile> inputs,
                std::span<const Tile> outputs);

} // namespace glia::emit
