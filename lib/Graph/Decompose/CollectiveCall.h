// Exchanges in a graph: those of StableHLO, and the call of @glia.collective that they become.
#pragma once
#include "glia/Graph/Graph.h"
#include "glia/ISA/Collective.h"

namespace glia::emit {

bool isExchange(mlir::Operation *op); // a collective of StableHLO's

inline constexpr llvm::StringLiteral kCollectiveTarget = "glia.collective";
bool isCollectiveCall(mlir::Operation *op);
// What such a call says, its element type and size apart. nullopt: its attributes are not those of one.
std::optional<Collective> collectiveCall(mlir::Operation *op);

} // namespace glia::emit
