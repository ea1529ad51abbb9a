// Scatters by any body of operations on elements: what is at a place is gathered, combined with its update, and put back. Places that may
// be named twice are taken one after the other.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

// False if the body has more than operations on elements.
bool writeByPlace(graph::ScatterOp op);

} // namespace glia::emit
