// What is known of a register: an interval, a congruence, where the value came from, and a linear form if it has one.
#pragma once
#include "Form.h"
#include "glia/ISA/RegisterAlu.h"

#include <cstdint>

namespace glia::flow {

struct RegisterValue {
  int64_t lo = 0, hi = 0;           // inclusive
  int64_t modulus = 1, residue = 0; // value = residue (mod modulus); constants have lo == hi
  bool undefined = true;
  uint64_t source = 0; // equal non-zero sources: equal values, whatever they are
  MaybeForm form;      // exact: what has it did not wrap

  bool isConstant() const { return lo == hi; }
  static RegisterValue constant(int64_t v);
  static RegisterValue range(int64_t lo, int64_t hi);
  static RegisterValue any(); // any int32, defined
  friend bool operator==(const RegisterValue &, const RegisterValue &) = default;
};

RegisterValue apply(RegisterOp op, const RegisterValue &a, const RegisterValue &b);
// One of the two, not known which.
RegisterValue join(const RegisterValue &a, const RegisterValue &b);
// For addresses, which are 64 bits wide: no wrap of a 32-bit register.
RegisterValue scaled(const RegisterValue &v, int64_t scale);
RegisterValue add(const RegisterValue &a, const RegisterValue &b);

// The same value for certain.
bool sameValue(const RegisterValue &a, const RegisterValue &b);

} // namespace glia::flow
