#include "InstructionText.h"

using namespace mlir;

namespace glia::nisa {

ParseResult parseInstruction(OpAsmParser &p, OperationState &state, const InstrDef &) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  return failure(p.parseOperandList(operands, OpAsmParser::Delimiter::Paren) || p.parseOptionalAttrDict(state.attributes) ||
                 p.parseColonTypeList(types) || p.resolveOperands(operands, types, p.getNameLoc(), state.operands));
}

void printInstruction(Instr i, OpAsmPrinter &p) {
  p << "(" << i->getOperands() << ")";
  p.printOptionalAttrDict(i->getAttrs());
  p << " : " << i->getOperandTypes();
}

} // namespace glia::nisa
