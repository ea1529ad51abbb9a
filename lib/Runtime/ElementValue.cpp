#include "glia/Runtime/ElementValue.h"
#include "glia/Numerics/Convert.h"
#include "glia/Support/Diagnostic.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace glia {

template <class T> static T load(const std::byte *at) {
  T v;
  std::memcpy(&v, at, sizeof(T));
  return v;
}

double elementValue(DType t, const std::byte *at) {
  switch (t) {
  case DType::I64: return static_cast<double>(load<int64_t>(at));
  case DType::U64: return static_cast<double>(load<uint64_t>(at));
  case DType::I32: return load<int32_t>(at);
  case DType::U32: return load<uint32_t>(at);
  default: return toF32(t, at);
  }
}

ElementLimits limitsOf(DType t) {
  if (isInteger(t)) {
    const int bits = 8 * sizeOf(t);
    return info(t).isSigned ? ElementLimits{-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1, 0}
                            : ElementLimits{0, std::ldexp(1.0, bits) - 1, 0};
  }
  const auto of = [](int minExponent, double largest) {
    return ElementLimits{-largest, largest, std::ldexp(1.0, minExponent)};
  };
  switch (t) {
  case DType::BF16: return of(-126, std::ldexp(255.0, 120));
  case DType::TF32: return of(-126, std::ldexp(2047.0, 117));
  case DType::F16: return of(-14, 65504);
  case DType::F8E4M3: return of(-6, 240);
  case DType::F8E4M3FN: return of(-6, 448);
  case DType::F8E5M2: return of(-14, 57344);
  case DType::F8E3M4: return of(-2, 15.5);
  default: return of(-126, std::numeric_limits<float>::max());
  }
}

std::string elementText(DType t, const std::byte *at) {
  if (t == DType::I64)
    return std::to_string(load<int64_t>(at));
  if (t == DType::U64)
    return std::to_string(load<uint64_t>(at));
  const double v = elementValue(t, at);
  return std::isnan(v) ? "nan" : format("%.*g", isFloat(t) ? 7 : 10, v);
}

} // namespace glia
