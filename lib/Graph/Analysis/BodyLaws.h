// Laws that the body of a reduction keeps, as far as trying a few numbers tells: which orders of combination give the same.
#pragma once
#include "glia/Graph/Graph.h"

#include <optional>

namespace glia::emit {

// The start changes nothing, before a number or behind it.
bool isNeutral(mlir::Block &body, mlir::ValueRange start);
// Once more behind what began with it, it changes nothing: padding that holds the start may then be left out.
bool repeats(mlir::Block &body, mlir::ValueRange start);

// (a b) c is a (b c). nullopt: the body has operations that are not tried.
std::optional<bool> isAssociative(mlir::Block &body);

} // namespace glia::emit
