// Linear forms: a number as a constant plus multiples of symbols. A symbol is the number of the round that a loop is in (its level among
// the loops that are being proved, outermost 0), or a value that was loaded or computed once. Two forms with equal terms differ by a
// constant, whatever the symbols are.
#pragma once
#include "Wide.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace glia::flow {

struct Interval { // inclusive
  int64_t lo = 0, hi = 0;
};

struct Form {
  struct Term {
    uint32_t symbol = 0;
    int64_t factor = 0;
    friend bool operator==(const Term &, const Term &) = default;
  };
  int64_t constant = 0;
  std::vector<Term> terms; // by symbol, ascending; no factor is 0

  bool isConstant() const { return terms.empty(); }
  int64_t factorOf(uint32_t symbol) const;
  friend bool operator==(const Form &, const Form &) = default;
};

// nothing: a number does not fit 62 bits, or there are too many terms.
using MaybeForm = std::optional<Form>;
MaybeForm constantForm(int64_t c);
MaybeForm symbolForm(uint32_t symbol);
MaybeForm addForms(const MaybeForm &a, const MaybeForm &b, int64_t factorOfB = 1);
MaybeForm scaleForm(const MaybeForm &a, int64_t factor);
// The form with `symbol` replaced by symbol + by.
MaybeForm moveForm(const Form &f, uint32_t symbol, int64_t by);

// Symbols up to this one are rounds of loops; those above are values.
inline constexpr uint32_t kFirstValue = 64;

} // namespace glia::flow
