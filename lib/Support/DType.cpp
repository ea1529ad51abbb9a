#include "glia/Support/DType.h"

namespace glia {

static constexpr DTypeInfo kInfo[kNumDTypes] = {
    {"f32", 4, true, true},    {"tf32", 4, true, true},     {"bf16", 2, true, true},   {"f16", 2, true, true},
    {"f8e4m3", 1, true, true}, {"f8e4m3fn", 1, true, true}, {"f8e5m2", 1, true, true}, {"f8e3m4", 1, true, true},
    {"i8", 1, false, true},    {"u8", 1, false, false},     {"i16", 2, false, true},   {"u16", 2, false, false},
    {"i32", 4, false, true},   {"u32", 4, false, false},    {"i64", 8, false, true},   {"u64", 8, false, false},
};

const DTypeInfo &info(DType t) { return kInfo[static_cast<int>(t)]; }

std::optional<DType> parseDType(std::string_view text) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kInfo[i].name == text)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace glia
