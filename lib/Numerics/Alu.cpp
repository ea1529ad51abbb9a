// The two-operand operations, one element at a time: what each of them means (docs/numerics.md). Rows are in AluRows.cpp.
#include "glia/Numerics/Alu.h"
#include "glia/Support/Diagnostic.h"
#include "Numerics/AluKernels.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace glia {
namespace {

constexpr std::array<std::string_view, kNumAluOps> kNames = {
    "add",        "subtract",    "multiply",    "max",         "min",         "equal",       "not_equal",  "greater_equal",
    "greater",    "less_equal",  "less",        "logical_and", "logical_or",  "logical_xor", "power",      "abs_max",
    "abs_min",    "bypass",      "abs",         "square",      "relu",        "rsqrt",       "reciprocal", "bitwise_and",
    "bitwise_or", "bitwise_xor", "bitwise_not", "shift_left",  "shift_right", "average"};

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

[[noreturn]] void refuse(AluOp op, const char *where) {
  throw Error("ALU-OP",
              format("operation %s is not defined for %s", std::string(kNames[static_cast<int>(op)]).c_str(), where),
              "use one of the operations listed in docs/numerics.md");
}

float canonical(float v) { return v == v ? v : kNaN; }

// fp32 rows as bit patterns; signed rows as unsigned ones. The kernels read and write memory as vectors.
const int32_t *pattern(const float *p) { return reinterpret_cast<const int32_t *>(p); }
int32_t *pattern(float *p) { return reinterpret_cast<int32_t *>(p); }
const uint32_t *asUnsigned(const int32_t *p) { return reinterpret_cast<const uint32_t *>(p); }
uint32_t *asUnsigned(int32_t *p) { return reinterpret_cast<uint32_t *>(p); }

} // namespace

const EnumNames &aluOpNames() {
  static const EnumNames names{"alu_op", kNames};
  return names;
}
bool isBitOp(AluOp op) { return op >= AluOp::BitAnd && op <= AluOp::ShiftRight; }
bool isUnary(AluOp op) { return (op >= AluOp::Bypass && op <= AluOp::Reciprocal) || op == AluOp::BitNot; }

float alu(AluOp op, float a, float b) {
  switch (op) {
  case AluOp::Add: return canonical(a + b);
  case AluOp::Subtract: return canonical(a - b);
  case AluOp::Multiply: return canonical(a * b);
  case AluOp::Max: return a != a || b != b ? kNaN : a > b ? a : b;
  case AluOp::Min: return a != a || b != b ? kNaN : a < b ? a : b;
  case AluOp::Equal: return a == b;
  case AluOp::NotEqual: return a != b;
  case AluOp::GreaterEqual: return a >= b;
  case AluOp::Greater: return a > b;
  case AluOp::LessEqual: return a <= b;
  case AluOp::Less: return a < b;
  case AluOp::LogicalAnd: return a != 0 && b != 0;
  case AluOp::LogicalOr: return a != 0 || b != 0;
  case AluOp::LogicalXor: return (a != 0) != (b != 0);
  case AluOp::Power: {
    float r;
    aluKernel(op).row(&a, &b, &r, 1);
    return r;
  }
  case AluOp::AbsMax: return a != a || b != b ? kNaN : std::fabs(a) > std::fabs(b) ? a : b;
  case AluOp::AbsMin: return a != a || b != b ? kNaN : std::fabs(a) < std::fabs(b) ? a : b;
  case AluOp::Bypass: return a;
  case AluOp::Abs: return std::fabs(a);
  case AluOp::Square: return canonical(a * a);
  case AluOp::Relu: return a != a ? kNaN : a > 0 ? a : 0;
  case AluOp::Rsqrt: return canonical(static_cast<float>(1 / std::sqrt(static_cast<double>(a))));
  case AluOp::Reciprocal: return canonical(1 / a);
  case AluOp::Average: refuse(op, "two operands");
  default: break;
  }
  return std::bit_cast<float>(aluInt(op, std::bit_cast<int32_t>(a), std::bit_cast<int32_t>(b), true));
}

int32_t aluInt(AluOp op, int32_t sa, int32_t sb, bool isUnsigned) {
  uint32_t a = static_cast<uint32_t>(sa), b = static_cast<uint32_t>(sb);
  bool less = isUnsigned ? a < b : sa < sb, equal = a == b;
  switch (op) {
  case AluOp::Add: return static_cast<int32_t>(a + b);
  case AluOp::Subtract: return static_cast<int32_t>(a - b);
  case AluOp::Multiply: return static_cast<int32_t>(a * b);
  case AluOp::Max: return less ? sb : sa;
  case AluOp::Min: return less ? sa : sb;
  case AluOp::Equal: return equal;
  case AluOp::NotEqual: return !equal;
  case AluOp::GreaterEqual: return !less;
  case AluOp::Greater: return !less && !equal;
  case AluOp::LessEqual: return less || equal;
  case AluOp::Less: return less;
  case AluOp::LogicalAnd: return a && b;
  case AluOp::LogicalOr: return a || b;
  case AluOp::LogicalXor: return !a != !b;
  case AluOp::Bypass: return sa;
  case AluOp::BitAnd: return sa & sb;
  case AluOp::BitOr: return sa | sb;
  case AluOp::BitXor: return sa ^ sb;
  case AluOp::BitNot: return ~sa;
  case AluOp::ShiftLeft: return b < 32 ? static_cast<int32_t>(a << b) : 0;
  case AluOp::ShiftRight: return b < 32 ? static_cast<int32_t>(a >> b) : 0;
  default: refuse(op, "32-bit integers");
  }
}

void aluRow(AluOp op, const float *a, const float *b, float *out, int64_t n) {
  if (isBitOp(op))
    return aluRowInt(op, pattern(a), pattern(b), pattern(out), n, true);
  if (auto kernel = aluKernel(op); kernel.row)
    return kernel.row(a, b, out, n);
  refuse(op, "rows");
}
void aluRowScalar(AluOp op, const float *a, float b, bool reverse, float *out, int64_t n) {
  if (isBitOp(op))
    return aluRowIntScalar(op, pattern(a), std::bit_cast<int32_t>(b), reverse, pattern(out), n, true);
  if (auto kernel = aluKernel(op); kernel.rowScalar)
    return kernel.rowScalar(a, b, reverse, out, n);
  refuse(op, "rows");
}
void aluRowInt(AluOp op, const int32_t *a, const int32_t *b, int32_t *out, int64_t n, bool isUnsigned) {
  auto s = aluSignedKernel(op);
  auto u = aluUnsignedKernel(op);
  if (!s.row)
    refuse(op, "32-bit integers");
  if (isUnsigned)
    u.row(asUnsigned(a), asUnsigned(b), asUnsigned(out), n);
  else
    s.row(a, b, out, n);
}
void aluRowIntScalar(AluOp op, const int32_t *a, int32_t b, bool reverse, int32_t *out, int64_t n, bool isUnsigned) {
  auto s = aluSignedKernel(op);
  auto u = aluUnsignedKernel(op);
  if (!s.rowScalar)
    refuse(op, "32-bit integers");
  if (isUnsigned)
    u.rowScalar(asUnsigned(a), static_cast<uint32_t>(b), reverse, asUnsigned(out), n);
  else
    s.rowScalar(a, b, reverse, out, n);
}

namespace {

bool isReduction(AluOp op) {
  switch (op) {
  case AluOp::Add:
  case AluOp::Subtract:
  case AluOp::Multiply:
  case AluOp::Max:
  case AluOp::Min:
  case AluOp::LogicalAnd:
  case AluOp::LogicalOr:
  case AluOp::LogicalXor:
  case AluOp::AbsMax:
  case AluOp::AbsMin:
  case AluOp::BitAnd:
  case AluOp::BitOr:
  case AluOp::BitXor:
  case AluOp::Average: return true;
  default: return false;
  }
}
bool isLogical(AluOp op) { return op >= AluOp::LogicalAnd && op <= AluOp::LogicalXor; }

} // namespace

float reduceRow(AluOp op, const float *a, int64_t n) {
  if (!isReduction(op))
    refuse(op, "reductions");
  if (op == AluOp::Average)
    return canonical(reduceRow(AluOp::Add, a, n) / static_cast<float>(n));
  if (op == AluOp::Subtract)
    return n == 1 ? canonical(a[0]) : canonical(a[0] - reduceRow(AluOp::Add, a + 1, n - 1));
  if (n == 1 && isLogical(op))
    return a[0] != 0;
  if (isBitOp(op))
    return std::bit_cast<float>(reduceRowInt(op, pattern(a), n, true));
  return canonical(aluKernel(op).reduce(a, n));
}

int32_t reduceRowInt(AluOp op, const int32_t *a, int64_t n, bool isUnsigned) {
  if (!isReduction(op) || op == AluOp::Average)
    refuse(op, "reductions of 32-bit integers");
  if (op == AluOp::Subtract)
    return n == 1 ? a[0] : aluInt(op, a[0], reduceRowInt(AluOp::Add, a + 1, n - 1, isUnsigned), isUnsigned);
  if (n == 1 && isLogical(op))
    return a[0] != 0;
  auto s = aluSignedKernel(op);
  auto u = aluUnsignedKernel(op);
  if (!s.reduce)
    refuse(op, "reductions of 32-bit integers");
  return isUnsigned ? static_cast<int32_t>(u.reduce(asUnsigned(a), n)) : s.reduce(a, n);
}

float reduceIdentity(AluOp op) {
  switch (op) {
  case AluOp::Multiply:
  case AluOp::LogicalAnd: return 1;
  case AluOp::Max: return -kInf;
  case AluOp::Min:
  case AluOp::AbsMin: return kInf;
  case AluOp::BitAnd: return std::bit_cast<float>(0xFFFFFFFFu);
  default: return 0;
  }
}

} // namespace glia
