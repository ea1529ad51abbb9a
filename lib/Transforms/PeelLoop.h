// Takes the first iteration out of a run-time loop, so that it can differ from the others.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

struct Peeled {
  mlir::Block *block = nullptr;                      // where both parts are: the loop's own block, or the body of a guard
  mlir::Operation *first = nullptr, *last = nullptr; // of the peeled iteration, inclusive; null if the body was empty
  mlir::Operation *rest = nullptr;                   // the loop of the other iterations
  mlir::Operation *guard = nullptr; // a loop of at most one trip around both, if the loop may not run at all; else null
};

// A count that is a number: the iteration stands before the loop, and the loop counts from 1. A count in a register, or a
// while: both stand in a loop of one trip or none. Addresses keep their form (the iterator's first value goes into the offset).
Peeled peelFirst(mlir::Operation *loop);

} // namespace glia::nisa
