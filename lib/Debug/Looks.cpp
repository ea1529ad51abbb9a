#include "Looks.h"
#include "Names.h"

#include <cmath>

namespace glia::debug {

Look lookOf(std::string_view text, const Number &number) {
  static constexpr std::pair<std::string_view, Look::Kind> kLooks[] = {
      {"nan", Look::NaN}, {"inf", Look::Inf}, {"denormal", Look::Denormal}, {"saturation", Look::Saturation}};
  std::string_view rest = text;
  const std::string_view what = word(rest);
  for (const auto &[name, kind] : kLooks)
    if (what == name && rest.empty())
      return {kind};
  if (what != "range")
    return {};
  const std::string_view low = word(rest);
  if (low.empty() || rest.empty())
    return {};
  return {Look::Range, number(low), number(rest)};
}

bool Look::finds(double value, const ElementLimits &limits) const {
  switch (kind) {
  case NaN: return std::isnan(value);
  case Inf: return std::isinf(value);
  case Denormal: return value != 0 && std::fabs(value) < limits.smallestNormal;
  case Saturation: return value == limits.largest || (value == limits.lowest && value < 0);
  case Range: return value < low || value > high;
  case None: break;
  }
  return false;
}

} // namespace glia::debug
