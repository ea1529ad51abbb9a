#include "glia/ISA/Operand.h"

namespace glia {

std::string_view name(Engine e) {
  static constexpr std::string_view kNames[] = {"tensor", "vector", "scalar", "gpsimd", "sync"};
  return kNames[static_cast<int>(e)];
}

std::string_view name(Space s) {
  static constexpr std::string_view kNames[] = {"SBUF", "PSUM", "HBM"};
  return kNames[static_cast<int>(s)];
}

int64_t Pattern::elementsPerPartition() const {
  int64_t n = 1;
  for (int i = 0; i < rank; ++i)
    n *= dims[i].count;
  return n;
}

bool Pattern::contiguous() const {
  int64_t expected = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (dims[i].count == 1)
      continue;
    if (dims[i].stride != expected)
      return false;
    expected *= dims[i].count;
  }
  return true;
}

} // namespace glia
