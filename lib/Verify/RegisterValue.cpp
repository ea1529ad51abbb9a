#include "RegisterValue.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

namespace {

int64_t residueOf(int64_t v, int64_t m) { return m > 1 ? ((v % m) + m) % m : 0; }

// Does not fit the register: what remains is any 32-bit value (the machine wraps).
RegisterValue wrapped(RegisterValue v) {
  if (v.lo >= INT32_MIN && v.hi <= INT32_MAX)
    return v;
  RegisterValue out = RegisterValue::any();
  out.undefined = v.undefined;
  for (Motion &m : out.motion)
    m.kind = Motion::Unknown;
  return out;
}

Motion addMotion(const Motion &a, const Motion &b, int64_t sign) {
  if (b.kind == Motion::Fixed)
    return a;
  if (a.kind == Motion::Fixed)
    return {b.kind, sign * b.step, b.period};
  if (a.kind == Motion::Affine && b.kind == Motion::Affine)
    return {Motion::Affine, a.step + sign * b.step, 0};
  if (a.kind == Motion::Rotating && b.kind == Motion::Rotating && a.period == b.period)
    return {Motion::Rotating, a.step + sign * b.step, a.period};
  return {Motion::Unknown, 0, 0};
}

Motion scaleMotion(const Motion &a, int64_t by) {
  if (a.kind == Motion::Fixed || a.kind == Motion::Unknown)
    return a;
  return {a.kind, a.step * by, a.period};
}

RegisterValue unknownMotion(RegisterValue v, const RegisterValue &a, const RegisterValue &b) {
  for (int i = 0; i < kMaxSummarised; ++i)
    v.motion[i].kind =
        a.motion[i].kind == Motion::Fixed && b.motion[i].kind == Motion::Fixed ? Motion::Fixed : Motion::Unknown;
  return v;
}

RegisterValue multiplyBy(const RegisterValue &a, int64_t c) {
  RegisterValue v;
  int64_t x, y;
  if (__builtin_mul_overflow(a.lo, c, &x) || __builtin_mul_overflow(a.hi, c, &y))
    return RegisterValue::range(INT64_MIN / 4, INT64_MAX / 4);
  v.lo = std::min(x, y);
  v.hi = std::max(x, y);
  int64_t m;
  v.modulus = __builtin_mul_overflow(a.modulus, c < 0 ? -c : c, &m) || m == 0 ? 1 : m;
  v.residue = residueOf(v.modulus > 1 && a.modulus > 1 ? a.residue * c : 0, v.modulus);
  for (int i = 0; i < kMaxSummarised; ++i)
    v.motion[i] = scaleMotion(a.motion[i], c);
  return v;
}

} // namespace

RegisterValue RegisterValue::constant(int64_t v) {
  RegisterValue r;
  r.lo = r.hi = v;
  r.undefined = false;
  return r;
}

RegisterValue RegisterValue::range(int64_t lo, int64_t hi) {
  RegisterValue r;
  r.lo = lo;
  r.hi = hi;
  r.undefined = false;
  return r;
}

RegisterValue RegisterValue::any() { return range(INT32_MIN, INT32_MAX); }

RegisterValue scaled(const RegisterValue &v, int64_t scale) {
  RegisterValue r = multiplyBy(v, scale);
  r.undefined = v.undefined;
  return r;
}

static RegisterValue addSub(const RegisterValue &a, const RegisterValue &b, int64_t sign) {
  RegisterValue v;
  v.lo = a.lo + (sign > 0 ? b.lo : -b.hi);
  v.hi = a.hi + (sign > 0 ? b.hi : -b.lo);
  // A constant is congruent to itself modulo anything.
  const int64_t ma = a.isConstant() ? 0 : a.modulus, mb = b.isConstant() ? 0 : b.modulus;
  v.modulus = std::gcd(ma, mb);
  if (v.modulus == 0)
    v.modulus = 1;
  v.residue = residueOf((a.isConstant() ? a.lo : a.residue) + sign * (b.isConstant() ? b.lo : b.residue), v.modulus);
  for (int i = 0; i < kMaxSummarised; ++i)
    v.motion[i] = addMotion(a.motion[i], b.motion[i], sign);
  return v;
}

RegisterValue add(const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = addSub(a, b, 1);
  v.undefined = a.undefined || b.undefined;
  return v;
}

RegisterValue apply(RegOp op, const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = RegisterValue::any();
  const bool nonNegative = a.lo >= 0 && b.lo >= 0;
  switch (op) {
  case RegOp::Add: v = addSub(a, b, 1); break;
  case RegOp::Subtract: v = addSub(a, b, -1); break;
  case RegOp::Multiply:
    if (b.isConstant())
      v = multiplyBy(a, b.lo);
    else if (a.isConstant())
      v = multiplyBy(b, a.lo);
    else
      v = unknownMotion(v, a, b);
    break;
  case RegOp::ShiftLeft:
    if (b.isConstant() && b.lo >= 0 && b.lo < 31)
      v = multiplyBy(a, int64_t{1} << b.lo);
    else
      v = unknownMotion(v, a, b);
    break;
  case RegOp::ShiftRight:
    if (b.isConstant() && b.lo >= 0 && b.lo < 32 && a.lo >= 0)
      v = RegisterValue::range(a.lo >> b.lo, a.hi >> b.lo);
    else if (b.isConstant() && b.lo > 0 && b.lo < 32) // zeros come in from above
      v = RegisterValue::range(0, int64_t{UINT32_MAX} >> b.lo);
    v = unknownMotion(v, a, b);
    break;
  case RegOp::And:
    if (a.isConstant() && b.isConstant())
      v = RegisterValue::constant(static_cast<int32_t>(a.lo & b.lo));
    else if (b.isConstant() && b.lo >= 0)
      v = RegisterValue::range(0, nonNegative ? std::min(a.hi, b.lo) : b.lo);
    v = unknownMotion(v, a, b);
    // iteration & (2^k - 1) rotates with period 2^k, as long as each iteration moves by one (or an odd step).
    if (b.isConstant() && b.lo > 0 && (b.lo & (b.lo + 1)) == 0)
      for (int i = 0; i < kMaxSummarised; ++i)
        if (a.motion[i].kind == Motion::Affine && a.motion[i].step == 1 && b.motion[i].kind == Motion::Fixed)
          v.motion[i] = {Motion::Rotating, 1, b.lo + 1};
    break;
  case RegOp::Or:
  case RegOp::Xor:
    if (a.isConstant() && b.isConstant())
      v = RegisterValue::constant(static_cast<int32_t>(op == RegOp::Or ? a.lo | b.lo : a.lo ^ b.lo));
    v = unknownMotion(v, a, b);
    break;
  case RegOp::Min: v = unknownMotion(RegisterValue::range(std::min(a.lo, b.lo), std::min(a.hi, b.hi)), a, b); break;
  case RegOp::Max: v = unknownMotion(RegisterValue::range(std::max(a.lo, b.lo), std::max(a.hi, b.hi)), a, b); break;
  case RegOp::Other: v = unknownMotion(v, a, b); break;
  }
  v.undefined = a.undefined || b.undefined;
  return wrapped(v);
}

RegisterValue join(const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = unknownMotion(RegisterValue::range(std::min(a.lo, b.lo), std::max(a.hi, b.hi)), a, b);
  for (int i = 0; i < kMaxSummarised; ++i)
    if (a.motion[i] == b.motion[i] && a.isConstant() && b.isConstant() && a.lo == b.lo)
      v.motion[i] = a.motion[i];
  if (a.modulus == b.modulus && a.residue == b.residue)
    v.modulus = a.modulus, v.residue = a.residue;
  v.undefined = a.undefined || b.undefined;
  v.source = a.source == b.source ? a.source : 0;
  return v;
}

} // namespace glia::flow
