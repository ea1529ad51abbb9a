// Element types that only some targets compute on; bytes of any type can be moved.
#pragma once
#include "glia/Support/DType.h"

#include <string_view>

namespace glia {

struct TypeFeature {
  DType type;
  std::string_view feature;
};
inline constexpr TypeFeature kTypeFeatures[] = {
    {DType::F8E4M3FN, "f8e4m3fn"},
    {DType::I64, "native_int64"},
    {DType::U64, "native_int64"},
};

} // namespace glia
