// What is known of a register: an interval, a congruence, where the value came from, how it moves with loops.
#pragma once
#include <array>
#include <cstdint>

namespace glia::flow {

inline constexpr int kMaxSummarised = 3; // nested loops whose iterations are not all walked

// How a value changes from one iteration of a summarised loop to the next.
struct Motion {
  enum Kind : uint8_t { Fixed, Affine, Rotating, Unknown } kind = Fixed;
  int64_t step = 0; // Affine: per iteration. Rotating: per step of (iteration mod period)
  int64_t period = 0;
  friend bool operator==(const Motion &, const Motion &) = default;
};

struct RegisterValue {
  int64_t lo = 0, hi = 0;           // inclusive
  int64_t modulus = 1, residue = 0; // value = residue (mod modulus); constants have lo == hi
  bool undefined = true;
  uint64_t source = 0; // equal non-zero sources: equal values, whatever they are
  std::array<Motion, kMaxSummarised> motion{};

  bool isConstant() const { return lo == hi; }
  static RegisterValue constant(int64_t v);
  static RegisterValue range(int64_t lo, int64_t hi);
  static RegisterValue any(); // any int32, defined
};

// The operations of reg_alu, by name: "add" "subtract" "multiply" "and" "or" "xor" "shift_left" "shift_right" "min" "max".
enum class RegOp : uint8_t { Add, Subtract, Multiply, And, Or, Xor, ShiftLeft, ShiftRight, Min, Max, Other };
RegisterValue apply(RegOp op, const RegisterValue &a, const RegisterValue &b);
RegisterValue join(const RegisterValue &a, const RegisterValue &b);
// For addresses, which are 64 bits wide: no wrap of a 32-bit register.
RegisterValue scaled(const RegisterValue &v, int64_t scale);
RegisterValue add(const RegisterValue &a, const RegisterValue &b);

} // namespace glia::flow
