// The element types of the machine: names, sizes and classes. Conversions are in Convert.h.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace glia {

enum class DType : uint8_t {
  F32,
  TF32,
  BF16,
  F16,
  F8E4M3,
  F8E4M3FN,
  F8E5M2,
  F8E3M4,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
};
inline constexpr int kNumDTypes = 16;

struct DTypeInfo {
  std::string_view name; // as written in assembly and in tables
  uint8_t bytes;
  bool isFloat;
  bool isSigned;
};
const DTypeInfo &info(DType t);
std::optional<DType> parseDType(std::string_view name);

inline int sizeOf(DType t) { return info(t).bytes; }
inline bool isFloat(DType t) { return info(t).isFloat; }
inline bool isInteger(DType t) { return !info(t).isFloat; }
inline std::string_view name(DType t) { return info(t).name; }

} // namespace glia
