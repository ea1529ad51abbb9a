// The text of an instruction: `nisa.tensor_tensor dst=%t[0:64, 0:256] a=%x b=%y op=add on vector`.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

mlir::ParseResult parseInstruction(mlir::OpAsmParser &p, mlir::OperationState &state, const InstrDef &def);
void printInstruction(Instr i, mlir::OpAsmPrinter &p);

} // namespace glia::nisa
