// Exchanges between ranks become calls of @glia.collective, which the machine has: one tensor, groups of ranks by number, blocks of ranks along the
// first dimension. What the machine cannot combine is gathered and combined by each rank itself.
#pragma once
#include "glia/Graph/Graph.h"
#include "glia/ISA/Collective.h"

namespace glia::emit {

void decomposeCollectives(mlir::func::FuncOp main);
bool isExchange(mlir::Operation *op); // a collective of StableHLO's

inline constexpr llvm::StringLiteral kCollectiveTarget = "glia.collective";
bool isCollectiveCall(mlir::Operation *op);
// What such a call says, its element type and size apart. nullopt: its attributes are not those of one.
std::optional<Collective> collectiveCall(mlir::Operation *op);

} // namespace glia::emit
