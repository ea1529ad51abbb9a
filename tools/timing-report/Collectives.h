// The published times of collectives, each with what glia/Target/CollectiveCost.h says: a section of docs/timing.md.
#pragma once
#include "Validation.h"

namespace glia::validation {

std::vector<Row> collectiveRows();
// The sizes up to which an algorithm is the fastest, published and predicted; in rows as well.
std::vector<Row> collectiveRanges();
std::string collectiveSection();

} // namespace glia::validation
