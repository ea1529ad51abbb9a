// Products that nobody waits for stand beside work of other engines.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

// A convolution whose result nobody needs soon, as a gradient of weights, goes in front of the next group of rows that does not read it:
// in one kernel the two are done at the same time (Braid.h). Each group still comes after those it reads.
void delayGroups(std::vector<Group> &groups);

// Where to cut in two, near the middle: before a convolution that follows something else, so that the groups above stay together. 0: nowhere.
size_t middleOf(std::span<const Group> groups);

} // namespace glia::emit
