// Strided pieces of memory.
#pragma once
#include "State.h"

namespace glia::flow {

// Steps positive and descending, runs as wide as they can be.
void tidy(Filled &f);

} // namespace glia::flow
