// Which operation an instruction may name: by engine, by target feature and by its place in the instruction. Shared by the
// instructions that have an `op` slot. The facts are one table (lib/ISA/AluRules.cpp).
#pragma once
#include "glia/ISA/Check.h"
#include "glia/Numerics/Alu.h"

namespace glia {

enum AluPlace : unsigned {
  kBinary = 1, // arithmetic on two operands
  kUnary = 2,  // arithmetic on the first operand only
  kBits = 4,
  kBypass = 8,
  kReduction = 16, // of the above, those that are legal as a reduction
};

// rule ALU-OP: the operation is one of `places` and the issuing engine has it. exactIntegers: all operands are i32 or u32,
// which lets GpSimd run what it otherwise has not. Returns false if the rule is broken.
bool checkAluOp(Check &c, int slot, unsigned places, bool exactIntegers = false);

// rule ALU-OPERAND: a two-operand operation has its scalar operand; a one-operand operation has none (or an immediate 0).
// A tensor has one element per partition of `like`: fp32 for arithmetic, an integer for bits. A bit operation's immediate is an
// integer.
void checkAluScalar(Check &c, int opSlot, int operandSlot, int like, bool anyType = false);

// rule BIT-OP-TYPE: operands of a bit operation are integers of one size.
void checkBitTypes(Check &c, std::initializer_list<int> slots);

// rule OPERAND-DTYPE: 64-bit integers are stored and copied, not computed with.
void checkComputeTypes(Check &c, std::initializer_list<int> slots);

inline bool isWide(DType t) { return t == DType::I32 || t == DType::U32; } // integers that GpSimd computes exactly
inline bool exactInteger(AluOp op) { return op <= AluOp::LogicalXor; }     // ... and with which operations

} // namespace glia
