// Bytes that lie beside each other: what one descriptor of a transfer moves.
#pragma once
#include "glia/ISA/Operand.h"

namespace glia {

// Of the longest run of adjacent elements that the innermost dimensions form.
int64_t runBytes(const Pattern &p);

} // namespace glia
