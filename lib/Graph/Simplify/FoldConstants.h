// Operations whose operands are all constants, evaluated once by the compiler, bit for bit as the graph says: arithmetic that rounds
// correctly, integers, selection and movement. Functions whose last bit depends on the host's library are left to the device.
#pragma once
#include "glia/Graph/Graph.h"

namespace glia::emit {

void foldConstants(mlir::func::FuncOp main);

} // namespace glia::emit
