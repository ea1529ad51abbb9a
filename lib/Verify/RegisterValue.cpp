#include "RegisterValue.h"

#include <algorithm>
#include <numeric>

namespace glia::flow {

namespace {

int64_t residueOf(Wide v, int64_t m) { return m > 1 ? static_cast<int64_t>(((v % m) + m) % m) : 0; }

// Congruence of a value; a constant is congruent to itself modulo anything (0).
int64_t modulusOf(const RegisterValue &v) { return v.isConstant() ? 0 : v.modulus; }
int64_t residueOf(const RegisterValue &v) { return v.isConstant() ? v.lo : v.residue; }

// Does not fit the register: what remains is any 32-bit value (the machine wraps).
RegisterValue wrapped(RegisterValue v) {
  if (v.lo >= INT32_MIN && v.hi <= INT32_MAX)
    return v;
  RegisterValue out = RegisterValue::any();
  out.undefined = v.undefined;
  for (int64_t power = int64_t{1} << 31; power > 1; power /= 2) // wrapping keeps the low bits
    if (v.modulus % power == 0) {
      out.modulus = power;
      out.residue = residueOf(v.residue, power);
      break;
    }
  return out;
}

RegisterValue linear(const RegisterValue &a, const RegisterValue &b, int64_t factor) { // a + b * factor
  RegisterValue v;
  const Wide x = Wide{b.lo} * factor, y = Wide{b.hi} * factor;
  v.lo = clampFar(a.lo + std::min(x, y));
  v.hi = clampFar(a.hi + std::max(x, y));
  const Wide m = Wide{modulusOf(b)} * (factor < 0 ? -Wide{factor} : Wide{factor});
  const int64_t mb = m > Wide{kFar} ? 1 : static_cast<int64_t>(m);
  v.modulus = std::gcd(modulusOf(a), mb);
  if (v.modulus == 0)
    v.modulus = 1;
  v.residue = residueOf(Wide{residueOf(a)} + Wide{residueOf(b)} * factor, v.modulus);
  v.form = addForms(a.form, b.form, factor);
  return v;
}

bool isMask(int64_t v) { return (v & (v + 1)) == 0; } // of what is not negative

RegisterValue bitAnd(const RegisterValue &a, const RegisterValue &b) {
  if (a.isConstant() && b.isConstant())
    return RegisterValue::constant(static_cast<int32_t>(a.lo & b.lo));
  if (a.isConstant())
    return bitAnd(b, a);
  if (!b.isConstant() || b.lo < 0)
    return a.lo >= 0 && b.lo >= 0 ? RegisterValue::range(0, std::min(a.hi, b.hi)) : RegisterValue::any();
  if (isMask(b.lo) && a.modulus % (b.lo + 1) == 0)
    return RegisterValue::constant(a.residue & b.lo);
  if (isMask(b.lo) && a.lo >= 0 && a.hi <= b.lo)
    return a;
  return RegisterValue::range(0, a.lo >= 0 ? std::min(a.hi, b.lo) : b.lo);
}

} // namespace

RegisterValue RegisterValue::constant(int64_t v) {
  RegisterValue r;
  r.lo = r.hi = v;
  r.undefined = false;
  r.form = constantForm(v);
  return r;
}

RegisterValue RegisterValue::range(int64_t lo, int64_t hi) {
  if (lo == hi)
    return constant(lo);
  RegisterValue r;
  r.lo = lo;
  r.hi = hi;
  r.undefined = false;
  return r;
}

RegisterValue RegisterValue::any() { return range(INT32_MIN, INT32_MAX); }

RegisterValue scaled(const RegisterValue &v, int64_t scale) {
  RegisterValue r = linear(RegisterValue::constant(0), v, scale);
  r.undefined = v.undefined;
  return r;
}

RegisterValue add(const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = linear(a, b, 1);
  v.undefined = a.undefined || b.undefined;
  return v;
}

RegisterValue apply(RegisterOp op, const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = RegisterValue::any();
  const RegisterValue zero = RegisterValue::constant(0);
  switch (op) {
  case RegisterOp::Add: v = linear(a, b, 1); break;
  case RegisterOp::Subtract: v = linear(a, b, -1); break;
  case RegisterOp::Multiply:
    if (b.isConstant())
      v = linear(zero, a, b.lo);
    else if (a.isConstant())
      v = linear(zero, b, a.lo);
    break;
  case RegisterOp::ShiftLeft:
    if (b.isConstant() && b.lo >= 0 && b.lo < 31)
      v = linear(zero, a, int64_t{1} << b.lo);
    break;
  case RegisterOp::ShiftRight:
    if (b.isConstant() && b.lo == 0)
      v = a;
    else if (b.isConstant() && b.lo > 0 && b.lo < 32 && a.lo >= 0)
      v = RegisterValue::range(a.lo >> b.lo, a.hi >> b.lo);
    else if (b.isConstant() && b.lo > 0 && b.lo < 32) // zeros come in from above
      v = RegisterValue::range(0, int64_t{UINT32_MAX} >> b.lo);
    break;
  case RegisterOp::And: v = bitAnd(a, b); break;
  case RegisterOp::Or:
  case RegisterOp::Xor:
    if (a.isConstant() && b.isConstant())
      v = RegisterValue::constant(static_cast<int32_t>(op == RegisterOp::Or ? a.lo | b.lo : a.lo ^ b.lo));
    break;
  case RegisterOp::Min:
    v = a.hi <= b.lo ? a : b.hi <= a.lo ? b : RegisterValue::range(std::min(a.lo, b.lo), std::min(a.hi, b.hi));
    break;
  case RegisterOp::Max:
    v = a.lo >= b.hi ? a : b.lo >= a.hi ? b : RegisterValue::range(std::max(a.lo, b.lo), std::max(a.hi, b.hi));
    break;
  }
  v.source = 0;
  v.undefined = a.undefined || b.undefined;
  return wrapped(v);
}

RegisterValue join(const RegisterValue &a, const RegisterValue &b) {
  RegisterValue v = RegisterValue::range(std::min(a.lo, b.lo), std::max(a.hi, b.hi));
  if (!v.isConstant()) {
    // Both are congruent to either residue modulo what divides both moduli and their difference.
    const Wide apart = Wide{residueOf(a)} - residueOf(b);
    const int64_t difference = static_cast<int64_t>(apart < 0 ? -apart : apart); // of two that are not far
    const int64_t m = std::gcd(std::gcd(modulusOf(a), modulusOf(b)), difference);
    v.modulus = m > 1 ? m : 1;
    v.residue = residueOf(Wide{residueOf(a)}, v.modulus);
    v.form = a.form == b.form ? a.form : std::nullopt;
  }
  v.undefined = a.undefined || b.undefined;
  v.source = a.source == b.source ? a.source : 0;
  return v;
}

bool sameValue(const RegisterValue &a, const RegisterValue &b) {
  return (a.source && a.source == b.source) || (a.form && a.form == b.form) ||
         (a.isConstant() && b.isConstant() && a.lo == b.lo);
}

} // namespace glia::flow
