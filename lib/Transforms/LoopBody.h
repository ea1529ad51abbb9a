// What passes need that write the body of a loop again.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

mlir::Value makeRegister(mlir::OpBuilder &b, mlir::Location loc);
void computeRegister(mlir::OpBuilder &b, mlir::Location loc, mlir::Value dst, std::string_view op, mlir::Value a,
                     SlotValue with);

// Replaces the iterator `from` in the ops of `block` by `to` * `scale` + `shift` (`to` null: by the number `shift`). Addresses keep their
// form: scale and shift go into them.
void replaceIterator(mlir::Block &block, mlir::Value from, mlir::Value to, int32_t scale, int32_t shift);

// Numbers that name instructions are unique: those in a copy of an op become new ones.
void renumber(mlir::Operation *copy);

} // namespace glia::nisa
