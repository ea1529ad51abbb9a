// What generators of random programs and kernels draw from.
#pragma once
#include "glia/Support/DType.h"

#include <vector>

namespace glia::choices {

using Types = std::vector<DType>;
using Names = std::vector<const char *>;

inline const Types &floatTypes() {
  static const Types types = {DType::F32,  DType::F32,    DType::BF16,   DType::F16,
                              DType::TF32, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4};
  return types;
}
inline const Types &computeTypes() {
  static const Types types = {DType::F32,  DType::F32,    DType::F32,    DType::BF16,   DType::BF16, DType::F16,
                              DType::TF32, DType::F8E4M3, DType::F8E5M2, DType::F8E3M4, DType::I8,   DType::U8,
                              DType::I16,  DType::U16,    DType::I32,    DType::U32};
  return types;
}

inline bool legalStart(int first, int partitions) {
  return partitions <= 32 ? first % 32 == 0 : partitions <= 64 ? first % 64 == 0 : first == 0;
}

// Operations of the ALU that the generator's target has.
template <class Generator> const char *binary(Generator &g) {
  static const Names ops = {"add",           "subtract", "multiply",   "max",  "min",         "equal",      "not_equal",
                            "greater_equal", "greater",  "less_equal", "less", "logical_and", "logical_or", "logical_xor"};
  if (g.has("abs_max") && g.r.chance(10))
    return g.r.chance(50) ? "abs_max" : "abs_min";
  return g.r.pick(ops);
}
template <class Generator> const char *unary(Generator &g) {
  static const Names ops = {"abs", "reciprocal"};
  if (g.has("tensor_scalar_square_relu") && g.r.chance(40))
    return g.r.chance(50) ? "square" : "relu";
  return g.r.pick(ops);
}

} // namespace glia::choices
