// How the slots of an instruction become the op's attribute and operands; shared by the builders, the parser and the printer.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

// What stands in `slots` for a slot that is left out.
mlir::Attribute absentSlot(mlir::Builder &b, const Slot &s);
// Operands, `slots` and `engine` of an instruction that is being made.
void fillInstruction(mlir::Builder &b, mlir::OperationState &state, const InstrDef &def, llvm::ArrayRef<SlotValue> values,
                     std::optional<Engine> engine);
// With `report`, as errors of the op; without, only the answer (the printer shows a broken op in MLIR's generic form).
mlir::LogicalResult verifyInstruction(Instr i, bool report = true);

} // namespace glia::nisa
