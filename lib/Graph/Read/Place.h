// The line of a source that an operation comes from.
#pragma once
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/Location.h"

namespace glia::graph {

// The first file and line in it; nothing if it has none.
SourcePlace placeOf(mlir::Location location);

} // namespace glia::graph
