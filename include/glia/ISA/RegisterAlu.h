// The operations of reg_alu: what the machine computes, and what the verifier follows.
#pragma once
#include "glia/ISA/Instruction.h"

namespace glia {

enum class RegisterOp : uint8_t { Add, Subtract, Multiply, And, Or, Xor, Min, Max, ShiftLeft, ShiftRight };
const EnumNames &registerOps(); // "add" "subtract" "multiply" "and" "or" "xor" "min" "max" "shift_left" "shift_right"

// 32 bits, wrapping. The shift count is unsigned; 32 and more shift everything out (chosen).
int32_t computeRegister(RegisterOp op, int32_t a, int32_t b);

} // namespace glia
