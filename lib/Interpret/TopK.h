// top_k is an operation and a custom call.
#pragma once
#include "Interpret/Call.h"

namespace glia::interp {

void topK(Call &c, bool largest); // along the last dimension; results: values and indices

} // namespace glia::interp
