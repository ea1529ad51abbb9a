// The text of an instruction: `tensor_tensor dst=%t[0:64, 0:256] a=%x b=%y op=add on vector`.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

mlir::ParseResult parseInstruction(mlir::OpAsmParser &p, mlir::OperationState &state, const InstrDef &def);
void printInstruction(Instr i, mlir::OpAsmPrinter &p, llvm::StringRef defaultDialect);

// Parses `attributes {...}` if it is there; refuses the names in `own`, which the text says in another way.
mlir::ParseResult parseFurtherAttributes(mlir::OpAsmParser &p, mlir::NamedAttrList &out,
                                         llvm::ArrayRef<llvm::StringRef> own);

} // namespace glia::nisa
