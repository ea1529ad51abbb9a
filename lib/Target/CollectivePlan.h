// How one group does a collective: stages that follow each other, of the algorithms that are fastest when nothing else happens.
#pragma once
#include "glia/Target/CollectiveCost.h"

namespace glia::collective {

using Plan = std::vector<CollectiveStage>;

// Of at least two ranks, each named once.
Plan planOf(const Topology &t, CollectiveKind kind, double bytes, std::span<const int> group);
// From one rank to another, all at the same time.
CollectiveStage pairsStage(const Topology &t, std::span<const std::pair<int, int>> all, double bytes);

} // namespace glia::collective
