// Values that are worth a stop: NaN, Inf, denormal, saturated, outside of a range.
#pragma once
#include "Conditions.h"
#include "glia/Runtime/ElementValue.h"

namespace glia::debug {

struct Look {
  enum Kind : uint8_t { None, NaN, Inf, Denormal, Saturation, Range } kind = None;
  double low = 0, high = 0;
  explicit operator bool() const { return kind != None; }
  bool finds(double value, const ElementLimits &limits) const;
};

// `nan`, `inf`, `denormal`, `saturation`, `range LOW HIGH`; None if it is something else.
Look lookOf(std::string_view text, const Number &number);

} // namespace glia::debug
