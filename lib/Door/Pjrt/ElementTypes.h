// The element types of buffers.
#pragma once
#include "PjrtAbi.h"

#include "mlir/IR/Types.h"

#include <span>

namespace glia::pjrt {

int64_t
bytesPerElement(ElementType t); // types narrower than a byte take one; throws Failure PJRT-TYPE for what has no elements
int64_t bytesOf(ElementType t, std::span<const int64_t> dims); // throws Failure PJRT-TYPE
ElementType elementTypeOf(mlir::Type t);                       // Invalid for what no buffer holds

} // namespace glia::pjrt
