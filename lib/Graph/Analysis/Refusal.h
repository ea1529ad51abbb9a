// What is said of an operation that cannot be compiled, with its place in the source.
#pragma once
#include "glia/Support/Diagnostic.h"

#include "mlir/IR/Location.h"

namespace glia::emit {

Diagnostic refusalAt(mlir::Location place, std::string code, std::string message, std::string advice);

} // namespace glia::emit
