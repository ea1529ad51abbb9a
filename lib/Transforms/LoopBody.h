// What passes need that write the body of a loop again.
#pragma once
#include "glia/Dialect/Instruction.h"

namespace glia::nisa {

mlir::Value makeRegister(mlir::OpBuilder &b, mlir::Location loc);
void computeRegister(mlir::OpBuilder &b, mlir::Location loc, mlir::Value dst, std::string_view op, mlir::Value a,
                     SlotValue with);

// The number of an iteration: counter * scale + start + shift, without what is null.
struct Iteration {
  mlir::Value counter;
  int32_t scale = 1;
  mlir::Value start;
  int32_t shift = 0;
};

// Replaces the iterator `from` in the ops of `block`. Addresses keep their form: scale, start and shift go into them.
void replaceIterator(mlir::Block &block, mlir::Value from, const Iteration &to);

// Numbers that name instructions are unique: those in a copy of an op become new ones.
void renumber(mlir::Operation *copy);

} // namespace glia::nisa
