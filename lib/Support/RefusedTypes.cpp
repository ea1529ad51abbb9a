#include "glia/Support/RefusedTypes.h"

namespace glia {

std::string_view refusedDType(std::string_view text) {
  struct Refused {
    std::string_view name, why;
  };
  static constexpr std::string_view kMx = "MX types are not implemented";
  static constexpr Refused kRefused[] = {
      {"f32r", "float32r has no public description"},
      {"float32r", "float32r has no public description"},
      {"f8e8m0", kMx},
      {"f8e8m0fnu", kMx},
      {"float8_e8m0fnu", kMx},
      {"f8e5m2_x4", kMx},
      {"float8_e5m2_x4", kMx},
      {"f8e4m3fn_x4", kMx},
      {"float8_e4m3fn_x4", kMx},
      {"f4e2m1fn_x4", kMx},
      {"float4_e2m1fn_x4", kMx},
  };
  for (const Refused &r : kRefused)
    if (r.name == text)
      return r.why;
  return {};
}

} // namespace glia
