// The two-operand operations of the Vector, Scalar and GpSimd engines. Arithmetic is fp32; bit operations and the exact
// 32-bit integer forms work on int32 patterns. Comparisons and logical operations give 1 or 0.
#pragma once
#include "glia/Support/EnumNames.h"

#include <cstdint>

namespace glia {

enum class AluOp : uint8_t {
  // arithmetic
  Add,
  Subtract,
  Multiply,
  Max,
  Min,
  Equal,
  NotEqual,
  GreaterEqual,
  Greater,
  LessEqual,
  Less,
  LogicalAnd,
  LogicalOr,
  LogicalXor,
  Power,
  AbsMax,
  AbsMin,
  // arithmetic on the first operand only (the second is ignored)
  Bypass,
  Abs,
  Square,
  Relu,
  Rsqrt,
  Reciprocal,
  // bits
  BitAnd,
  BitOr,
  BitXor,
  BitNot,
  ShiftLeft,
  ShiftRight,
  // reductions only
  Average,
};
inline constexpr int kNumAluOps = static_cast<int>(AluOp::Average) + 1;
const EnumNames &aluOpNames(); // "add" "subtract" "multiply" "max" ... "bitwise_and" ... "shift_left" ...
bool isBitOp(AluOp op);
bool isUnary(AluOp op); // ignores its second operand

float alu(AluOp op, float a, float b);
int32_t aluInt(AluOp op, int32_t a, int32_t b, bool isUnsigned); // wraps; Add..LogicalXor and the bit operations

// Rows. `out` may be `a` or `b` itself; otherwise rows do not overlap.
void aluRow(AluOp op, const float *a, const float *b, float *out, int64_t n);
void aluRowScalar(AluOp op, const float *a, float b, bool reverse, float *out, int64_t n); // reverse: op(b, a[i])
void aluRowInt(AluOp op, const int32_t *a, const int32_t *b, int32_t *out, int64_t n, bool isUnsigned);
void aluRowIntScalar(AluOp op, const int32_t *a, int32_t b, bool reverse, int32_t *out, int64_t n, bool isUnsigned);
// Reduces one row in the documented order (docs/numerics.md). n >= 1. Starts from the first group, not from an identity.
float reduceRow(AluOp op, const float *a, int64_t n);
int32_t reduceRowInt(AluOp op, const int32_t *a, int64_t n, bool isUnsigned);
float reduceIdentity(AluOp op); // 0, 1, -inf, +inf ...

} // namespace glia
