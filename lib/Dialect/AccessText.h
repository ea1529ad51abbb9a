// Tensor operands as text: `%t`, `%t[0:64, 3]`, `%t:bf16{32+64 | 128 | 2x256, 1x128} + %i*2048`.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

// From the `%` on. `what` names the slot in messages.
mlir::ParseResult parseAccess(mlir::OpAsmParser &p, llvm::StringRef what, TensorOperand &out);
void printAccess(mlir::OpAsmPrinter &p, const TensorOperand &t);

} // namespace glia::nisa
