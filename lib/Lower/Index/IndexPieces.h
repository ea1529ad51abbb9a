// Gathers and scatters whose indices are known when the graph is compiled: copies of parts of tensors.
#pragma once
#include "IndexForm.h"
#include "Lower/Move/MovementPieces.h"

namespace glia::emit {

// The result of a gather. nullopt: more pieces than are worth it.
std::optional<Pieces> gatheredPieces(mlir::Operation *op);

// What updates go to: boxes of the data, in the order of the updates; those that are not wholly inside are left out. `axes`
// are per dimension of the data, `stride` that of the updates.
std::optional<Pieces> scatteredPieces(mlir::Operation *op);

} // namespace glia::emit
