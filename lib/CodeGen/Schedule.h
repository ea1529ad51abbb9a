// The list scheduler for one block whose tiles have addresses that nothing shares yet.
#pragma once
#include "LiveLimit.h"

namespace glia::codegen {

inline constexpr size_t kMostTried = 20000; // blocks above this are ordered in one way only

// False if there is no order in which what is live keeps to `room`.
bool orderBlock(mlir::Block &block, const Target &target, LiveLimit &room);

} // namespace glia::codegen
