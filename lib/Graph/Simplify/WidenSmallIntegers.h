// Integers of 2 and 4 bits, which no engine has.
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace glia::emit {

// They are held in 8 bits, with the value that they have; what may leave their range is brought back to it. Arguments and results have one
// byte for each, of which the lower bits count: in a result the others are 0. Throws Error GRAPH-TYPE for bits of them that become another type's, and
// for calls that take or give them.
void widenSmallIntegers(mlir::func::FuncOp main);

} // namespace glia::emit
