// What an operation of a group of rows needs of SBUF while it is computed.
#pragma once
#include "glia/Lower/Family.h"

namespace glia::emit {

int64_t bytesBetween(mlir::Operation *op); // per element of the result

} // namespace glia::emit
